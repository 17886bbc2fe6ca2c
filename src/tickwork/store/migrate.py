"""Numbered SQL migrations, each applied once, under a lock, with its checksum kept.

A migration whose file name ends in `.breaking.sql` cannot be used by programs older than itself: they refuse to
start against it. All others must leave the previous release working.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import asyncpg

from tickwork.model.errors import WrongSchema
from tickwork.store.connect_to_any_host import MIGRATION
from tickwork.store.pool import Connection, Database

_FILE = re.compile(r"(\d{4})_[a-z0-9_]+(\.breaking)?\.sql")
_LOCK = 0x7469636B  # "tick": a number that no other program locks
_HISTORY = """
CREATE SCHEMA IF NOT EXISTS tickwork;
CREATE TABLE IF NOT EXISTS tickwork.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    breaking boolean NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
"""


class Migration(NamedTuple):
    number: int
    name: str
    breaking: bool
    checksum: str
    sql: str


class Status(NamedTuple):
    current: int
    latest: int
    pending: list[str]


async def upgrade(url: str, like: Database | None = None) -> list[str]:
    """Apply the pending migrations. Returns their names. `like`: an open database with the same URL; if it says that
    nothing is pending, no lock and no further connection is needed."""
    if like and not _pending(await _applied_to(like)):
        return []
    database = Database(url, size=1, limits=MIGRATION)
    await database.open(like)
    try:
        async with database.transaction() as connection:
            await _wait_for_others(connection)
            await connection.execute(_HISTORY)
            pending = _pending(await _applied(connection))
            for migration in pending:
                await _apply(connection, migration)
            return [migration.name for migration in pending]
    finally:
        await database.close()


async def _wait_for_others(connection: Connection) -> None:
    """Wait without a limit: a session that migrates is alive, or the server would have ended it."""
    await connection.execute(
        f"SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({_LOCK});"
        f"SET LOCAL lock_timeout = '{MIGRATION.lock}s'"
    )


async def status(url: str) -> Status:
    """The state of the schema. WrongSchema when this program must not use the database."""
    database = Database(url, size=1)
    await database.open()
    try:
        applied = await _applied_to(database)
    finally:
        await database.close()
    pending = _pending(applied)
    return Status(max(applied, default=0), migrations()[-1].number, [migration.name for migration in pending])


async def trace_seed(database: Database) -> int:
    """When the database was created, in microseconds. Makes trace ids differ from those of other databases, whose jobs
    have the same numbers; the same on every node."""
    (row,) = await database.fetch(
        "SELECT tickwork.micros(applied_at) AS seed FROM tickwork.migration ORDER BY number LIMIT 1"
    )
    return int(row["seed"])


@cache
def migrations() -> Sequence[Migration]:
    return sorted(
        _read(entry.name, entry.read_bytes()) for entry in (files(__package__) / "migrations").iterdir()
    )


def _read(name: str, content: bytes) -> Migration:
    match = _FILE.fullmatch(name)
    if not match:
        raise WrongSchema(
            f"{name} is not named like a migration", "name it like 0002_add_limits_to_queues.sql"
        )
    return Migration(
        int(match[1]), name, bool(match[2]), hashlib.sha256(content).hexdigest(), content.decode()
    )


async def _applied_to(database: Database) -> dict[int, asyncpg.Record]:
    """Those of a database that may have none."""
    async with database.transaction() as connection:
        known = await connection.fetchval("SELECT to_regclass('tickwork.migration') IS NOT NULL")
        return await _applied(connection) if known else {}


async def _applied(connection: Connection) -> dict[int, asyncpg.Record]:
    rows = await connection.fetch("SELECT number, name, checksum, breaking FROM tickwork.migration")
    return {row["number"]: row for row in rows}


def _pending(applied: dict[int, asyncpg.Record]) -> list[Migration]:
    """The migrations to apply. WrongSchema when this program must not use the database."""
    known = {migration.number: migration for migration in migrations()}
    for number, row in applied.items():
        if number not in known and row["breaking"]:
            raise WrongSchema(
                f"the database has {row['name']}, which this version of Tickwork is too old for",
                "upgrade Tickwork",
            )
        if number in known and known[number].checksum != row["checksum"]:
            raise WrongSchema(
                f"{row['name']} was changed after it was applied to this database",
                "restore the original file",
            )
    return [migration for number, migration in known.items() if number not in applied]


async def _apply(connection: Connection, migration: Migration) -> None:
    await connection.execute(migration.sql)
    await connection.execute(
        "INSERT INTO tickwork.migration (number, name, checksum, breaking) VALUES ($1, $2, $3, $4)",
        migration.number, migration.name, migration.checksum, migration.breaking,
    )  # fmt: skip
