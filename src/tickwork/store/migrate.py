"""Applies each migration once, under a lock, while nodes of the previous release go on working.

A migration that waits for a lock makes everybody wait who comes after it. So it gives up soon, lets the others go
first, and tries again. One that goes in batches commits each of them, and goes on where it was when it was interrupted.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

import asyncpg

from tickwork.model.errors import Unavailable, WrongSchema
from tickwork.store.connect_to_any_host import MIGRATION
from tickwork.store.migration_file import Migration, migrations
from tickwork.store.pool import Connection, Database

_LOCK = 0x7469636B  # "tick": a number that no other program locks
_TRIES = 60  # to get the locks of a migration
_PAUSE = 2.0  # seconds between them
_HISTORY = """
CREATE SCHEMA IF NOT EXISTS tickwork;
CREATE TABLE IF NOT EXISTS tickwork.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    needs integer NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
"""

Progress = Callable[[str, int], None]  # name of a migration, how many rows it has changed so far


class Status(NamedTuple):
    current: int
    latest: int
    pending: list[str]


def _keep_quiet(name: str, rows: int) -> None:
    pass


async def upgrade(url: str, like: Database | None = None, progress: Progress = _keep_quiet) -> list[str]:
    """Apply the pending migrations. Returns the names of those that are now complete. `like`: an open database with the
    same URL; if it says that nothing is pending, no lock and no further connection is needed."""
    if like and not _pending(await _applied_to(like)):
        return []
    database = Database(url, size=1, limits=MIGRATION)
    await database.open(like)
    try:
        return await _Upgrade(database, progress).run()
    finally:
        await database.close()


class _Upgrade:
    def __init__(self, database: Database, progress: Progress) -> None:
        self._database = database
        self._progress = progress
        self._rows = 0  # changed by the migration that goes in batches now

    async def run(self) -> list[str]:
        completed: list[str] = []
        while (names := await self._try_next()) is not None:
            completed += names
        return completed

    async def _try_next(self) -> list[str] | None:
        for _ in range(_TRIES):
            try:
                return await self._apply_next()
            except Unavailable as error:
                if not isinstance(error.__cause__, asyncpg.LockNotAvailableError):
                    raise
            await asyncio.sleep(_PAUSE)
        raise Unavailable(
            "a migration did not get its locks: end long transactions on the tables of Tickwork and try again"
        )

    async def _apply_next(self) -> list[str] | None:
        """In one transaction, all up to the first that goes in batches, or one batch of that. The names of those that
        are complete; None if nothing is pending."""
        async with self._database.transaction() as connection:
            await _wait_for_others(connection)
            await connection.execute(_HISTORY)
            pending = _pending(await _applied(connection))
            if not pending:
                return None
            if pending[0].in_batches:
                return await self._apply_batch(connection, pending[0])
            at_once = list(takewhile(lambda each: not each.in_batches, pending))
            for migration in at_once:
                await connection.execute(migration.sql)
                await _note(connection, migration)
            return [migration.name for migration in at_once]

    async def _apply_batch(self, connection: Connection, migration: Migration) -> list[str]:
        """Its statement says how many rows it changed, as in "UPDATE 1000". None: it is complete."""
        rows = int((await connection.execute(migration.sql)).rpartition(" ")[2])
        self._rows += rows
        if rows:
            self._progress(migration.name, self._rows)
            return []
        self._rows = 0
        await _note(connection, migration)
        return [migration.name]


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


async def _applied_to(database: Database) -> dict[int, asyncpg.Record]:
    """Those of a database that may have none."""
    async with database.transaction() as connection:
        known = await connection.fetchval("SELECT to_regclass('tickwork.migration') IS NOT NULL")
        return await _applied(connection) if known else {}


async def _applied(connection: Connection) -> dict[int, asyncpg.Record]:
    rows = await connection.fetch("SELECT number, name, checksum, needs FROM tickwork.migration")
    return {row["number"]: row for row in rows}


def _pending(applied: dict[int, asyncpg.Record]) -> Sequence[Migration]:
    """The migrations to apply. WrongSchema when this program must not use the database."""
    known = {migration.number: migration for migration in migrations()}
    latest = max(known)
    for number, row in applied.items():
        if number not in known and row["needs"] > latest:
            raise WrongSchema(
                f"a newer Tickwork has upgraded the database: this version cannot work with {row['name']}",
                "start the newer version; to go back, restore a backup from before the upgrade",
            )
        if number in known and known[number].checksum != row["checksum"]:
            raise WrongSchema(
                f"{row['name']} was changed after it was applied to this database",
                "restore the original file",
            )
    return [migration for number, migration in known.items() if number not in applied]


async def _note(connection: Connection, migration: Migration) -> None:
    await connection.execute(
        "INSERT INTO tickwork.migration (number, name, checksum, needs) VALUES ($1, $2, $3, $4)",
        migration.number, migration.name, migration.checksum, migration.needs,
    )  # fmt: skip
