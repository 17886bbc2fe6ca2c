"""The numbered SQL files of this version, and what their names say.

    0002_add_limits_to_queues.sql               programs of any age go on with the database
    0003_index_color_of_jobs.concurrently.sql   indexes that are built while others write, outside a transaction
    0004_fill_color_of_jobs.batches.sql         one statement, repeated in short transactions until nothing is left
    0005_drop_job_color.needs_0003.sql          programs that do not know 0003 refuse to start

CONTRIBUTING.md has the rules, and docs/adr/0027 the reasons.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tickwork.model.errors import WrongSchema
from tickwork.store.concurrent_statement import concurrent_statements

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+?(?:\.needs_(\d{4}))?(?:\.(batches|concurrently))?\.sql")
_PLACE = "$1"


class How(StrEnum):
    """How a migration is applied."""

    AT_ONCE = "at once"  # in one transaction with its neighbours
    BATCHES = "batches"
    CONCURRENTLY = "concurrently"


class Migration(NamedTuple):
    number: int
    name: str
    needs: int  # the migration that a program must know to use the database afterwards; 0: none
    how: How
    checksum: str
    sql: str

    @property
    def has_place(self) -> bool:
        """Whether each batch is told where the one before has ended."""
        return self.how is How.BATCHES and _PLACE in self.sql


@cache
def migrations() -> Sequence[Migration]:
    """In the order in which they are applied."""
    folder = files(__package__) / "migrations"
    return sorted(read_migration(entry.name, entry.read_bytes()) for entry in folder.iterdir())


def read_migration(name: str, content: bytes) -> Migration:
    match = _NAME.fullmatch(name)
    if not match:
        raise WrongSchema(
            f"{name} is not named like a migration", "name it like 0002_add_limits_to_queues.sql"
        )
    number, needs, how = int(match[1]), int(match[2] or 0), How(match[3] or How.AT_ONCE)
    if needs > number:
        raise WrongSchema(f"{name} needs a later migration", f"write .needs_{number:04} or an earlier one")
    sql = content.decode()
    if how is How.CONCURRENTLY:
        concurrent_statements(name, sql)
    return Migration(number, name, needs, how, hashlib.sha256(content).hexdigest(), sql)
