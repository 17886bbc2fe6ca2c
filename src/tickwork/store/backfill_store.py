"""Creates, shows, fills and cancels backfills."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg

from tickwork.model.backfill import BackfillRequest, BackfillStatus, BackfillView, Policy
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.field_types import Page
from tickwork.model.job import JobStatus
from tickwork.model.public_ids import backfill_id, job_id
from tickwork.store.page_cursor import BackfillPlace, decode_cursor, encode_cursor
from tickwork.store.pool import Connection, Database
from tickwork.store.port.define import BackfillTurn, Filled, JobDueTimes
from tickwork.store.query_files import queries

_LARGEST = 2**63 - 1
_NOTHING = Filled(made=0, passed_over=0)


class PostgresBackfillStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("backfill")

    async def due_times_of(self, tenant_id: int, job: int) -> JobDueTimes:
        row = await self._database.fetchrow(self._sql["due_times_of_job"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        if row["status"] == JobStatus.CANCELLED:
            raise Conflict(f"job {job_id(job)} is cancelled: create a new one")
        if row["depends"]:
            raise Conflict(f"job {job_id(job)} runs in the rounds of the jobs it depends on: backfill those")
        if row["timing"] is None:
            raise Conflict(f"job {job_id(job)} is due only once: there is nothing to fill; run it instead")
        return JobDueTimes(row["timing"], row["active_until"])

    async def to_fill(
        self, tenant_id: int, job: int, times: Sequence[datetime], policy: Policy
    ) -> list[datetime]:
        rows = await self._database.fetch(self._sql["times_to_fill"], tenant_id, job, list(times), policy)
        return [row["scheduled_for"] for row in rows]

    async def create(
        self, tenant_id: int, job: int, request: BackfillRequest, times: Sequence[datetime]
    ) -> int:
        async with self._database.transaction() as connection:
            number: int = await connection.fetchval(
                self._sql["create_backfill"],
                tenant_id, job, request.from_, request.to, list(times), request.max_active, request.order,
                request.policy,
            )  # fmt: skip
        return number

    async def backfill(self, tenant_id: int, backfill: int) -> BackfillView:
        row = await self._database.fetchrow(self._sql["backfills"], tenant_id, None, backfill, _LARGEST, 1)
        if row is None:
            raise NotFound("backfill", backfill_id(backfill))
        return _view(row)

    async def backfills(self, tenant_id: int, job: int, limit: int, cursor: str | None) -> Page[BackfillView]:
        before = decode_cursor(cursor, BackfillPlace).id if cursor else _LARGEST
        rows = await self._database.fetch(self._sql["backfills"], tenant_id, job, None, before, limit)
        end = BackfillPlace("backfills", rows[-1]["id"]) if len(rows) == limit else None
        return Page([_view(row) for row in rows], encode_cursor(end))

    async def cancel(self, tenant_id: int, backfill: int) -> None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_backfill"], tenant_id, backfill)
            if row is None:
                raise NotFound("backfill", backfill_id(backfill))
            if row["status"] == BackfillStatus.COMPLETED:
                raise Conflict(f"backfill {backfill_id(backfill)} has ended: it is completed")
            sql = self._sql["cancel_backfilled"]
            await connection.execute(sql, tenant_id, row["job_id"], row["active"])
            await self._stop(connection, backfill, row)

    async def next_turn(self, after: int) -> BackfillTurn | None:
        row = await self._database.fetchrow(self._sql["next_backfill"], after)
        return BackfillTurn(*row) if row else None

    async def fill(self, turn: BackfillTurn) -> Filled:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["take_backfill"], turn.id, turn.made)
            if row is None:
                return _NOTHING
            if row["job_status"] == JobStatus.CANCELLED:
                await self._stop(connection, turn.id, row)
                return _NOTHING
            active = await self._still_active(connection, turn.id, row)
            goes_on = row["status"] == BackfillStatus.RUNNING and row["job_status"] != JobStatus.PAUSED
            wanted = turn.times[: row["max_active"] - len(active)] if goes_on else []
            made = await self._make(connection, turn.id, row, wanted) if wanted else []
            if wanted:
                await self._note(connection, turn.id, active + made, made=len(wanted))
            await connection.execute(self._sql["end_backfill"], turn.id)
        return Filled(len(made), len(wanted) - len(made))

    async def give_up(self, backfill: int) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["give_up_backfill"], backfill)

    async def _still_active(
        self, connection: Connection, backfill: int, row: asyncpg.Record
    ) -> list[datetime]:
        """The executions that have not ended. Counts those that ended since the last turn."""
        if not row["active"]:
            return []
        sql = self._sql["count_active"]
        found = await connection.fetchrow(sql, row["tenant_id"], row["job_id"], row["active"])
        assert found is not None  # noqa: S101 (an aggregate gives one row)
        if len(found["active"]) < len(row["active"]):
            await self._note(connection, backfill, **found)
        active: list[datetime] = found["active"]
        return active

    async def _make(
        self, connection: Connection, backfill: int, row: asyncpg.Record, times: Sequence[datetime]
    ) -> list[datetime]:
        rows = await connection.fetch(
            self._sql["insert_backfilled"],
            row["tenant_id"], row["job_id"], list(times), row["lane_id"], row["priority"], row["policy"], backfill,
        )  # fmt: skip
        return [each["scheduled_for"] for each in rows]

    async def _note(
        self,
        connection: Connection,
        backfill: int,
        active: Sequence[datetime],
        made: int = 0,
        completed: int = 0,
        failed: int = 0,
    ) -> None:
        await connection.execute(self._sql["note_progress"], backfill, made, list(active), completed, failed)

    async def _stop(self, connection: Connection, backfill: int, row: asyncpg.Record) -> None:
        """Create no more executions. The backfill ends when its last execution has."""
        await connection.execute(self._sql["stop_backfill"], backfill)
        await self._still_active(connection, backfill, row)
        await connection.execute(self._sql["end_backfill"], backfill)


def _view(row: asyncpg.Record) -> BackfillView:
    return BackfillView(
        id=backfill_id(row["id"]),
        job_id=job_id(row["job_id"]),
        from_=row["begin_at"],
        to=row["end_at"],
        order=row["run_order"],
        policy=row["policy"],
        max_active=row["max_active"],
        total=row["total"],
        made=row["made"],
        active=row["active"],
        completed=row["completed"],
        failed=row["failed"],
        status=BackfillStatus(row["status"]),
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )
