"""How far migrations have come that take long: their batches, and the indexes that are being built."""

from collections.abc import Sequence

import asyncpg

from tickwork.store.migration_file import Migration
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

_BUILD = "building index: "  # how PostgreSQL calls most phases


class BatchProgress:
    """Of one migration, in the transaction of a batch: what is noted commits with the rows that were changed."""

    def __init__(self, connection: Connection, migration: Migration) -> None:
        self._connection = connection
        self._migration = migration
        self._sql = queries("migration_progress")

    async def place(self) -> str | None:
        """Where the batch before has ended, as JSON; None before the first one."""
        row = await self._connection.fetchrow(self._sql["batch_before"], self._migration.number)
        return row["place"] if row else None

    async def note(self, place: str | None, rows: int) -> int:
        """How many rows were changed so far, by this batch and all before."""
        number = self._migration.number
        changed: int = await self._connection.fetchval(self._sql["note_batch"], number, place, rows)
        return changed


async def note_complete(connection: Connection, migration: Migration) -> None:
    await connection.execute(
        queries("migration_progress")["note_complete"],
        migration.number, migration.name, migration.checksum, migration.needs,
    )  # fmt: skip


async def under_way(database: Database, pending: Sequence[Migration]) -> list[str]:
    """What can be said of the migrations that have begun and of the indexes that are built now."""
    name_of = {migration.number: migration.name for migration in pending}
    sql = queries("migration_progress")
    batches = await database.fetch(sql["batches_under_way"])
    builds = await database.fetch(sql["index_builds"])
    return [
        f"{name_of[row['number']]}: {rows_so_far(row['rows'])}, begun at {row['begun_at']:%Y-%m-%d %H:%M:%S}, "
        f"last at {row['at']:%Y-%m-%d %H:%M:%S} UTC"
        for row in batches
        if row["number"] in name_of
    ] + [f"index {row['name']}: {build_phase(row)}" for row in builds]


def rows_so_far(rows: int) -> str:
    return f"{rows:,} rows so far"


def build_phase(row: asyncpg.Record) -> str:
    phase: str = row["phase"].removeprefix(_BUILD)
    return phase if row["percent"] is None else f"{phase}, {row['percent']} %"
