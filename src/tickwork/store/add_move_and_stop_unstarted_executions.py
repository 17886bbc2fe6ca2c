"""Creates, pauses, moves and stops the executions of one job that have not started, and stops those that run."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import asyncpg

from tickwork.model.execution import Trigger
from tickwork.model.overlap import Blocker, Overlap, Queue, Replace, Skip, decide
from tickwork.store.find_overlap_blockers import find_blocker
from tickwork.store.pool import Connection
from tickwork.store.query_files import queries
from tickwork.store.statistics_store import count_fired_later

_MICROSECOND = timedelta(microseconds=1)


class UnstartedExecutions:
    def __init__(self, connection: Connection, tenant_id: int, job: int) -> None:
        self._connection = connection
        self._job = (tenant_id, job)
        self._sql = queries("add_move_and_stop_unstarted_executions")

    async def add(self, lane: int, priority: int, at: datetime, trigger: Trigger) -> datetime:
        """Add an off-schedule execution. A manual run whose due time is taken gets the next microsecond. A scheduled
        execution that was stopped before its due time waits again."""
        tenant_id, job = self._job
        while not await self._connection.fetchval(
            self._sql["insert_execution"], tenant_id, at, job, lane, priority, trigger
        ):
            if trigger == Trigger.SCHEDULE:
                await self._connection.execute(
                    self._sql["revive_execution"], tenant_id, at, job, lane, priority
                )
                break
            at += _MICROSECOND
        await self._connection.execute(self._sql["note_off_schedule"], job, at)
        await count_fired_later(self._connection, [(tenant_id, at)])
        return at

    async def add_late(
        self, lane: int, priority: int, at: datetime, overlap: Overlap, fired: Sequence[datetime | None]
    ) -> None:
        """Add the execution of a due time that the rule has fired without this job, as firing would have done. `fired`:
        the last due times of the rule."""
        blocker = None if overlap == "allow" else await self._blocker_of(at, fired)
        decision = decide(overlap, blocker)
        if isinstance(decision, Skip):
            await self._skip(lane, priority, at, decision)
            return
        if isinstance(decision, Replace):
            await self.cancel_replaced(decision)
        await self.add(lane, priority, at, Trigger.SCHEDULE)
        if isinstance(decision, Queue):
            await self.queue(at, decision)

    async def blocker(self, fired: Sequence[datetime | None]) -> Blocker | None:
        """An execution of the job that has not ended. `fired`: the last due times of its rule."""
        return await find_blocker(self._connection, *self._job, fired)

    async def cancel_replaced(self, decision: Replace) -> None:
        tenant_id, job = self._job
        sql = queries("find_overlap_blockers")["cancel_blockers"]
        await self._connection.execute(sql, [tenant_id], [decision.replaced], [job])

    async def queue(self, at: datetime, decision: Queue) -> None:
        """Make an added execution wait for the one before it."""
        tenant_id, job = self._job
        sql = self._sql["queue_execution"]
        await self._connection.execute(sql, tenant_id, at, job, decision.blocked_by)

    async def note_unended_of_rule(self, fired: Sequence[datetime | None]) -> None:
        """Note the last execution by the rule if it has not ended. The rule goes on without the job, and the next
        execution must still find it as its blocker."""
        blocker = await self.blocker(fired)
        if blocker:
            await self._connection.execute(
                self._sql["note_off_schedule"], self._job[1], blocker.scheduled_for
            )

    async def note_unended(self, lane: int) -> None:
        """Note executions that were allowed to overlap, because from now on they can be blockers."""
        await self._connection.execute(self._sql["note_unended"], *self._job, lane)

    async def pause(self, lane: int) -> None:
        """Make waiting executions wait until the job is resumed."""
        await self._connection.execute(self._sql["pause_waiting"], *self._job, lane)

    async def resume(self, lane: int) -> None:
        await self._connection.execute(self._sql["resume_waiting"], *self._job, lane)

    async def move(self, lane: int, new_lane: int, priority: int) -> None:
        await self._connection.execute(self._sql["move_waiting"], *self._job, lane, new_lane, priority)

    async def cancel(self, lane: int, reason: str) -> None:
        await self._connection.execute(self._sql["cancel_waiting"], *self._job, lane, reason)

    async def stop_ahead(
        self, times: Sequence[datetime], status: Literal["skipped", "cancelled"], reason: str
    ) -> None:
        """End executions of due times that have not come yet, also when a worker has them."""
        if times:
            sql = self._sql["stop_ahead"]
            stopped = await self._connection.fetch(sql, *self._job, list(times), status, reason)
            await self._revoke(stopped, reason)

    async def stop_running(self, reason: str) -> None:
        """Cancel what workers and HTTP targets have, and tell them to stop it."""
        await self._connection.execute(self._sql["stop_running"], *self._job, reason)

    async def count_running(self) -> int:
        count: int = await self._connection.fetchval(self._sql["count_running_of_job"], *self._job)
        return count

    async def take_back(self, scheduled_for: datetime, reason: str) -> None:
        """Take an execution that has not started away from its worker, to wait until `resume`."""
        taken = await self._connection.fetch(self._sql["take_back"], *self._job, scheduled_for)
        await self._revoke(taken, reason)

    async def _blocker_of(self, at: datetime, fired: Sequence[datetime | None]) -> Blocker | None:
        blocker = await self.blocker([time for time in fired if time != at])
        return None if blocker and blocker.scheduled_for == at else blocker

    async def _skip(self, lane: int, priority: int, at: datetime, skip: Skip) -> None:
        tenant_id, job = self._job
        await self._connection.execute(
            self._sql["skip_due_time"], tenant_id, at, job, lane, priority, skip.blocked_by, skip.reason
        )
        await self._connection.execute(self._sql["note_off_schedule"], job, at)
        await count_fired_later(self._connection, [(tenant_id, at)])

    async def _revoke(self, rows: Sequence[asyncpg.Record], reason: str) -> None:
        tenant_id, job = self._job
        for row in rows:
            if row["worker_id"] is not None:
                await self._connection.execute(
                    queries("outcome")["revoke"],
                    tenant_id, row["scheduled_for"], job, row["attempt"], row["worker_id"], reason,
                )  # fmt: skip
