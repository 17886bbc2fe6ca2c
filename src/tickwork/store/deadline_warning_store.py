"""Executions with a deadline: those that have not ended, and the events of those that are going to miss it."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from tickwork.model.deadline import deadline_from_text
from tickwork.model.execution import ExecutionKey
from tickwork.model.overdue_attempt import FIRST_CHECK
from tickwork.model.requires_limits_fair_share import placement_from_text
from tickwork.model.stream_event import EventKind
from tickwork.store.pool import Database
from tickwork.store.port.record import EndangeredExecution, UnendedExecution
from tickwork.store.query_files import queries


class PostgresDeadlineStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("deadline_warning")

    async def unended(self, limit: int) -> list[UnendedExecution]:
        lanes = {
            row["id"]: deadline_from_text(text)
            for row in await self._database.fetch(self._sql["deadline_lanes"])
            if (text := placement_from_text(row["placement"]).deadline) is not None
        }
        if not lanes:
            return []
        rows = await self._database.fetch(self._sql["unended_with_deadline"], [*lanes], limit, FIRST_CHECK)
        return [
            UnendedExecution(
                ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"]),
                row["lane_id"],
                lanes[row["lane_id"]].of(row["scheduled_for"]),
                row["started_at"],
                timedelta(seconds=row["timeout"]),
                row["now"],
            )
            for row in rows
        ]

    async def usual_run_times(self, jobs: Collection[tuple[int, int]]) -> dict[int, timedelta]:
        columns = [tenant for tenant, _ in jobs], [job for _, job in jobs]
        rows = await self._database.fetch(self._sql["usual_run_times"], *columns)
        return {row["job_id"]: timedelta(seconds=row["usual"]) for row in rows}

    async def tell_endangered(self, endangered: Sequence[EndangeredExecution]) -> list[ExecutionKey]:
        keys = [each.key for each in endangered]
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["lock_unended"], *map(list, zip(*keys, strict=True)))
            locked = {ExecutionKey(*row) for row in rows}
            told = [each for each in endangered if each.key in locked]
            if told:
                await connection.execute(
                    self._sql["write_endangered"],
                    EventKind.DEADLINE_ENDANGERED,
                    *map(list, zip(*(each.key for each in told), strict=True)),
                    [each.lane_id for each in told],
                    [each.detail for each in told],
                )
        return [each.key for each in told]
