"""Jobs that run for each element of a list that a parent returned."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from tickwork.model.execution import RESULT_LIMIT, ExecutionKey
from tickwork.model.statistics import OLDEST_ADDED
from tickwork.store.outcome_store import PostgresAttemptEnding
from tickwork.store.pool import Database
from tickwork.store.port.define import ListOutcome, ReadyFanOut
from tickwork.store.query_files import queries, rows_written
from tickwork.store.queue_store import refuse_if_full
from tickwork.store.write_attempt_events import write_failure


class PostgresFanOutStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("fan_out")

    async def ready(self, limit: int, ahead: timedelta) -> list[ReadyFanOut]:
        rows = await self._database.fetch(self._sql["ready_fan_outs"], limit, ahead)
        return [ReadyFanOut(ExecutionKey(*row[:3]), *row[3:]) for row in rows]

    async def are_used(self) -> bool:
        (row,) = await self._database.fetch(self._sql["fan_outs_are_used"])
        return bool(row["are_used"])

    async def refuse_if_full(self, fan_out: ReadyFanOut, elements: int) -> None:
        async with self._database.transaction() as connection:
            await refuse_if_full(connection, [fan_out.lane_id] * elements)

    async def outcome_of(self, fan_out: ReadyFanOut, parent: int) -> ListOutcome:
        row = await self._database.fetchrow(
            self._sql["result_of_parent"], fan_out.key.tenant_id, parent, fan_out.key.scheduled_for
        )
        return ListOutcome(row["result"], row["not_taken"]) if row else ListOutcome(None, not_taken=False)

    @asynccontextmanager
    async def expanding(self, fan_out: ReadyFanOut) -> AsyncIterator[bool]:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_job_of_fan_out"], fan_out.key.job_id)
            rows = await connection.fetch(self._sql["lock_fan_out"], *fan_out.key, fan_out.attempt)
            yield bool(rows)

    async def link(self, fan_out: ReadyFanOut, elements: Sequence[int]) -> None:
        if not elements:
            await self.complete(fan_out)
            return
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["number_elements"], *fan_out.key, elements)
            await connection.execute(self._sql["await_elements"], *fan_out.key, elements)

    async def complete(self, fan_out: ReadyFanOut) -> None:
        async with self._database.transaction() as connection:
            completed = await connection.fetch(
                self._sql["complete_fan_out"], *fan_out.key, fan_out.attempt, RESULT_LIMIT, OLDEST_ADDED
            )
            if completed:
                tenant_id, scheduled_for, job = fan_out.key
                await connection.execute(
                    queries("write_completion_events_to_notify")["write_told_completions"],
                    [tenant_id], [scheduled_for], [job], [fan_out.attempt],
                    [b'"workflow_done"' in fan_out.definition or b'"completed"' in fan_out.definition],
                )  # fmt: skip

    async def fail(self, fan_out: ReadyFanOut, reason: str) -> None:
        async with self._database.transaction() as connection:
            answer = await connection.execute(
                self._sql["fail_fan_out"], *fan_out.key, fan_out.attempt, reason
            )
            if rows_written(answer):
                await PostgresAttemptEnding(connection).keep_dead_letters([fan_out.key], {})
                await write_failure(connection, fan_out.key)

    async def skip(self, fan_out: ReadyFanOut, reason: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["skip_fan_out"], *fan_out.key, fan_out.attempt, reason)

    async def put_off(self, fan_out: ReadyFanOut, by: timedelta, reason: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["put_off_fan_out"], *fan_out.key, fan_out.attempt, by, reason)

    async def cancel_elements(self, limit: int) -> int | None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["cancel_elements"], limit)
        return row["number"] if row else None
