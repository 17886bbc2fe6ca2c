"""Which days are archived: who does it, how far it is, and how a day leaves the database.

    partition ──seal──▶ sealed, apart from executions ──written and read back──▶ archived ──drop──▶ dropped

A node that dies at any point leaves one of these states behind, and the next one goes on from it. Only the node that
has the duty writes here: each transaction makes sure of that.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import msgspec
import structlog

from tickwork.model.archive import ArchivePart, ArchiveView, Manifest, Purged
from tickwork.model.errors import Unavailable
from tickwork.store.partitions_and_retention import BRIEFLY, TABLES, Partitions, bounds
from tickwork.store.pool import Connection, Database
from tickwork.store.port.archive import LostDuty
from tickwork.store.query_files import queries, rows_written

_log = structlog.get_logger("tickwork")
_DUTY = timedelta(minutes=2)  # without a sign of life, until another node takes over


class PostgresArchiveStore:
    def __init__(self, database: Database, partitions: Partitions, node_id: str) -> None:
        self._database = database
        self._partitions = partitions
        self._node_id = node_id
        self._sql = queries("archive")

    async def take_duty(self) -> bool:
        async with self._database.transaction() as connection:
            return await connection.fetchval(self._sql["take_duty"], self._node_id, _DUTY) is not None

    async def keep_duty(self) -> None:
        if not await self.take_duty():
            raise LostDuty

    @asynccontextmanager
    async def _on_duty(self) -> AsyncIterator[Connection]:
        async with self._database.transaction() as connection:
            if await connection.fetchval(self._sql["hold_duty"], self._node_id) is None:
                raise LostDuty
            yield connection

    async def part_under_way(self) -> ArchivePart | None:
        rows = await self._database.fetch(self._sql["part_under_way"])
        return _part(rows[0]) if rows else None

    async def parts(self) -> list[ArchivePart]:
        return [_part(row) for row in await self._database.fetch(self._sql["archived_parts"])]

    async def old_labels(self) -> list[str]:
        return self._partitions.old_labels()

    async def seal(self, label: str) -> bool:
        try:
            async with self._on_duty() as connection:
                if not await self._partitions.is_settled(connection, label):
                    return False
                if not await self._partitions.is_attached(connection, label):
                    self._partitions.left(label)  # another node has archived it
                    return False
                await connection.execute(self._sql["add_part"], label, *bounds(label))
                await connection.execute(BRIEFLY)
                await _take_out(connection, label)
        except Unavailable as error:
            if not isinstance(error.__cause__, asyncpg.LockNotAvailableError):
                raise
            _log.info("an old partition is not archived for now, because it is in use", partition=label)
            return False
        self._partitions.left(label)
        return True

    async def begin_generation(self, part: ArchivePart, generation: int) -> None:
        async with self._on_duty() as connection:
            answer = await connection.execute(
                self._sql["begin_generation"], part.label, part.number, generation
            )
            if not rows_written(answer):
                raise LostDuty

    async def note_written(self, part: ArchivePart, manifest: Manifest) -> None:
        text = msgspec.json.encode(manifest).decode()
        async with self._on_duty() as connection:
            answer = await connection.execute(
                self._sql["note_written"], part.label, part.number, manifest.generation, text
            )
            if not rows_written(answer):
                raise LostDuty

    async def forget_some(self, part: ArchivePart) -> bool:
        """What belongs to executions that ran again on that day since stays, until these are archived."""
        async with self._on_duty() as connection:
            return await self._partitions.forget_unless_there(connection, part.label)

    async def drop(self, part: ArchivePart) -> None:
        async with self._on_duty() as connection:
            for table in TABLES:
                await connection.execute(f"DROP TABLE IF EXISTS tickwork.{_sealed(table, part.label)}")
            await connection.execute(self._sql["note_dropped"], part.label, part.number)

    async def purged(self, limit: int) -> Purged:
        jobs = await self._database.fetch(self._sql["purged_jobs"], limit)
        tenants = await self._database.fetch(self._sql["purged_tenants"], limit)
        return Purged([row["job_id"] for row in jobs], [row["tenant_id"] for row in tenants])

    async def note_purged(self, jobs: Mapping[int, int], tenants: Mapping[int, int]) -> None:
        async with self._on_duty() as connection:
            await connection.execute(self._sql["note_purged_jobs"], list(jobs), list(jobs.values()))
            await connection.execute(self._sql["note_purged_tenants"], list(tenants), list(tenants.values()))

    async def note_problem(self, problem: str | None) -> None:
        await self._database.execute(self._sql["note_problem"], self._node_id, problem)

    async def state(self) -> ArchiveView:
        (row,) = await self._database.fetch(self._sql["archive_state"])
        return ArchiveView(
            until=row["until"],
            waiting_days=row["sealed"] + len(self._partitions.old_labels()),
            problem=row["problem"],
            problem_since=row["problem_since"],
        )


async def _take_out(connection: Connection, label: str) -> None:
    """Detaching changes only the catalogue, and the new name leaves room for executions that run again on that day."""
    for table in TABLES:
        sealed = _sealed(table, label)
        if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", f"tickwork.{table}_{label}"):
            await connection.execute(
                f"""ALTER TABLE tickwork.{table} DETACH PARTITION tickwork.{table}_{label};
                    ALTER TABLE tickwork.{table}_{label} RENAME TO {sealed};
                    ALTER TABLE tickwork.{sealed} INHERIT tickwork.sealed_{table}"""
            )


def _sealed(table: str, label: str) -> str:
    return f"sealed_{table}_{label}"


def _part(row: asyncpg.Record) -> ArchivePart:
    manifest = None if row["manifest"] is None else msgspec.json.decode(row["manifest"], type=Manifest)
    return ArchivePart(
        row["label"],
        row["number"],
        row["begin_at"],
        row["end_at"],
        row["state"],
        row["generation"],
        manifest,
    )
