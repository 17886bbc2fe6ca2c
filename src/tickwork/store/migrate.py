"""Applies each migration once, under a lock, while nodes of the previous release go on working.

A migration that waits for a lock makes everybody wait who comes after it. So it gives up soon, lets the others go
first, and tries again. One that goes in batches commits each of them, and goes on where it was when it was interrupted.
One that builds indexes does so outside a transaction.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from time import monotonic
from typing import NamedTuple

import asyncpg

from tickwork.model.errors import Unavailable, WrongSchema
from tickwork.store.connect_to_any_host import MIGRATION
from tickwork.store.migration_file import How, Migration, migrations
from tickwork.store.migration_progress import BatchProgress, note_complete, rows_so_far, under_way
from tickwork.store.older_nodes import OlderNodes, OlderNodesMayBeAlive
from tickwork.store.pool import Connection, Database
from tickwork.store.run_concurrent_statements import ConcurrentStatements

_LOCK = 0x7469636B  # "tick": a number that no other program locks
_TRIES = 60  # to get the locks of a migration
_PAUSE = 2.0  # seconds between them
_LOOK_INTERVAL = 0.5  # seconds between looks whether somebody else has finished
_TELL_INTERVAL = 1.0  # seconds between lines about the batches of a migration
_NO_LOCK = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)
_HISTORY = """
CREATE SCHEMA IF NOT EXISTS tickwork;
CREATE TABLE IF NOT EXISTS tickwork.migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    needs integer NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS tickwork.migration_progress (
    number integer PRIMARY KEY,
    place jsonb,
    rows bigint NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    at timestamptz NOT NULL DEFAULT now()
);
"""

Progress = Callable[[str, str], None]  # name of a migration, what is to be said of it


class Status(NamedTuple):
    current: int
    latest: int
    pending: list[str]
    under_way: list[str]


def _keep_quiet(name: str, said: str) -> None:
    pass


async def upgrade(
    url: str,
    like: Database | None = None,
    progress: Progress = _keep_quiet,
    *,
    allow_older_nodes: bool = False,
) -> list[str]:
    """Apply the pending migrations. Returns the names of those that are now complete. `like`: an open database with the
    same URL; if it says that nothing is pending, no lock and no further connection is needed. WrongSchema when nodes
    are alive that cannot work with the new schema, unless that is allowed."""
    if like and not _pending(await _applied_to(like)):
        return []
    database = Database(url, size=1, limits=MIGRATION)
    await database.open(like)
    try:
        return await _Upgrade(database, progress, None if allow_older_nodes else OlderNodes()).run()
    finally:
        await database.close()


class _OthersMigrate(Exception):
    """Somebody else has the lock."""


class _Upgrade:
    def __init__(self, database: Database, progress: Progress, older_nodes: OlderNodes | None) -> None:
        self._database = database
        self._progress = progress
        self._older_nodes = older_nodes
        self._told_at = float("-inf")

    async def run(self) -> list[str]:
        completed: list[str] = []
        while (names := await self._try_next()) is not None:
            completed += names
        return completed

    async def _try_next(self) -> list[str] | None:
        tries = 0
        while tries < _TRIES:
            try:
                return await self._apply_next()
            except (_OthersMigrate, OlderNodesMayBeAlive):
                await asyncio.sleep(_LOOK_INTERVAL)
            except Unavailable as error:
                if not isinstance(error.__cause__, _NO_LOCK):
                    raise
                tries += 1
                await asyncio.sleep(_PAUSE)
        raise Unavailable(
            "a migration did not get its locks: end long transactions on the tables of Tickwork and try again"
        )

    async def _apply_next(self) -> list[str] | None:
        """In one transaction, all up to the first of another kind, or one batch, or one that runs concurrently. The
        names of those that are complete; None if nothing is pending."""
        async with self._database.transaction() as connection:
            await _lock(connection)
            await connection.execute(_HISTORY)
            applied = await _applied(connection)
            pending = _pending(applied)
            if not pending:
                return None
            if self._older_nodes and applied:
                await self._older_nodes.check(connection, pending)
            if pending[0].how is How.BATCHES:
                return await self._apply_batch(connection, pending[0])
            if pending[0].how is How.CONCURRENTLY:
                return await self._apply_concurrently(connection, pending[0])
            at_once = list(takewhile(lambda each: each.how is How.AT_ONCE, pending))
            for migration in at_once:
                await connection.execute(migration.sql)
                await note_complete(connection, migration)
            return [migration.name for migration in at_once]

    async def _apply_batch(self, connection: Connection, migration: Migration) -> list[str]:
        progress = BatchProgress(connection, migration)
        if migration.has_place:
            is_last, place, rows = await _batch_from(connection, migration, await progress.place())
        else:
            # Its statement says how many rows it changed, as in "UPDATE 1000". None: it is complete.
            rows = int((await connection.execute(migration.sql)).rpartition(" ")[2])
            is_last, place = not rows, None
        if is_last:
            await note_complete(connection, migration)
            return [migration.name]
        changed = await progress.note(place, rows)
        self._database.after_commit(partial(self._tell_rows, migration, changed))
        return []

    def _tell_rows(self, migration: Migration, changed: int) -> None:
        if monotonic() - self._told_at >= _TELL_INTERVAL:
            self._told_at = monotonic()
            self._progress(migration.name, rows_so_far(changed))

    async def _apply_concurrently(self, connection: Connection, migration: Migration) -> list[str]:
        """This transaction keeps the lock, and does nothing meanwhile: an index waits for all others that look at
        something."""
        await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await ConcurrentStatements(self._database, partial(self._progress, migration.name)).run(migration)
        await note_complete(connection, migration)
        return [migration.name]


async def _lock(connection: Connection) -> None:
    """Without waiting: an index that is built under the lock would wait for whoever waits for the lock."""
    if not await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", _LOCK):
        raise _OthersMigrate


async def _batch_from(
    connection: Connection, migration: Migration, place: str | None
) -> tuple[bool, str | None, int]:
    """Whether nothing is left, where the batch has ended, and how many rows it has changed."""
    row = await connection.fetchrow(migration.sql, place)
    if row is None or row["place"] is None:
        return True, None, 0
    if not isinstance(row["place"], str):
        raise WrongSchema(f"{migration.name} gives its place not as jsonb", "write to_jsonb(…) AS place")
    return False, row["place"], row["rows"]


async def status(url: str) -> Status:
    """The state of the schema. WrongSchema when this program must not use the database."""
    database = Database(url, size=1)
    await database.open()
    try:
        applied = await _applied_to(database)
        pending = _pending(applied)
        said = await under_way(database, pending) if applied and pending else []
    finally:
        await database.close()
    names = [migration.name for migration in pending]
    return Status(max(applied, default=0), migrations()[-1].number, names, said)


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
