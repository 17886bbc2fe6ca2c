"""The statements of a migration that ends in .concurrently.sql. Each is safe to repeat, whatever was left of it.

    CREATE [UNIQUE] INDEX CONCURRENTLY name ON tickwork.table (…) …;
    DROP INDEX CONCURRENTLY tickwork.name;
    ALTER TABLE tickwork.table VALIDATE CONSTRAINT name;

Tables may be partitioned. Nothing else is allowed: it would have to be safe to repeat, too.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from tickwork.model.errors import WrongSchema

# PostgreSQL cuts longer names off. Those of partitions end in _20260131.
LONGEST_INDEX_NAME = 63 - 9

_COMMENT = re.compile(r"--.*$", re.MULTILINE)
_CREATE = re.compile(r"CREATE (UNIQUE )?INDEX CONCURRENTLY (\w+) ON tickwork\.(\w+) (.+)", re.DOTALL)
_DROP = re.compile(r"DROP INDEX CONCURRENTLY tickwork\.(\w+)")
_VALIDATE = re.compile(r"ALTER TABLE tickwork\.(\w+) VALIDATE CONSTRAINT (\w+)")


class CreateIndex(NamedTuple):
    name: str
    table: str
    is_unique: bool
    rest: str  # from the columns on

    def sql(self) -> str:
        """The statement without CONCURRENTLY: for a partitioned table."""
        return f"CREATE {self._kind} {self.name} ON tickwork.{self.table} {self.rest}"

    def concurrent_sql(self, name: str, table: str) -> str:
        """The statement for the table, or for one of its partitions."""
        return f"CREATE {self._kind} CONCURRENTLY {name} ON tickwork.{table} {self.rest}"

    @property
    def _kind(self) -> str:
        return "UNIQUE INDEX" if self.is_unique else "INDEX"

    def name_on(self, partition: str) -> str:
        return f"{self.name}_{partition.removeprefix(f'{self.table}_')}"


class DropIndex(NamedTuple):
    name: str


class ValidateConstraint(NamedTuple):
    table: str
    name: str


ConcurrentStatement: TypeAlias = CreateIndex | DropIndex | ValidateConstraint


def concurrent_statements(file: str, sql: str) -> Sequence[ConcurrentStatement]:
    texts = (" ".join(text.split()) for text in _COMMENT.sub("", sql).split(";"))
    return [_read(file, text) for text in texts if text]


def _read(file: str, text: str) -> ConcurrentStatement:
    if match := _CREATE.fullmatch(text):
        if len(match[2]) > LONGEST_INDEX_NAME:
            raise WrongSchema(
                f"{file} has an index with a long name, {match[2]}",
                f"use {LONGEST_INDEX_NAME} letters at most",
            )
        return CreateIndex(match[2], match[3], bool(match[1]), match[4])
    if match := _DROP.fullmatch(text):
        return DropIndex(match[1])
    if match := _VALIDATE.fullmatch(text):
        return ValidateConstraint(match[1], match[2])
    raise WrongSchema(
        f"{file} has a statement that cannot run concurrently: {text[:60]}",
        "only CREATE INDEX CONCURRENTLY, DROP INDEX CONCURRENTLY and VALIDATE CONSTRAINT can, on tables written as "
        "tickwork.job; put the rest into a file of its own",
    )
