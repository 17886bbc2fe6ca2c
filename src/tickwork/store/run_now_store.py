"""Running a job besides its schedule: the SQL behind run now.

Unless they may overlap, the job's rule is locked first and looked at afterwards: so a run is wholly before or wholly
after each chunk that is fired, and both know of each other.
"""

from datetime import datetime

import asyncpg

from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import Trigger
from tickwork.model.ids import execution_id, job_id
from tickwork.model.job import QUEUE_LIMIT, JobStatus, Overlap
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries
from tickwork.store.queue_store import refuse_if_full
from tickwork.store.rule_membership import LockedRule, Membership, again_if_crossed
from tickwork.store.unstarted_executions import Upcoming


class PostgresRunStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("run")

    async def run(self, tenant_id: int, job: int, overlap: Overlap) -> datetime:
        return await again_if_crossed(lambda: self._run(tenant_id, job, overlap))

    async def _run(self, tenant_id: int, job: int, overlap: Overlap) -> datetime:
        async with self._database.transaction() as connection:
            members = Membership(connection, tenant_id)
            rules = await members.lock([], [] if overlap == "allow" else [await members.rule_of(job)])
            row = await self._lock_job(connection, tenant_id, job)
            blocker: datetime | None = None
            if overlap != "allow":
                fired = _fired_last(row, rules.get(row["rule_id"]))
                blocker = await connection.fetchval(self._sql["blocker_of_job"], tenant_id, job, fired)
            if blocker and overlap == "skip":
                raise Conflict(f"execution {execution_id(job, blocker)} of this job has not ended")
            if blocker and overlap == "replace":
                sql = queries("trigger")["cancel_blockers"]
                await connection.execute(sql, [tenant_id], [blocker], [job])
            await refuse_if_full(connection, [row["lane_id"]])
            upcoming = Upcoming(connection, tenant_id, job)
            at = await upcoming.add(row["lane_id"], row["priority"], await members.now(), Trigger.MANUAL)
            if blocker and overlap == "queue":
                await self._queue(connection, tenant_id, job, at, blocker)
        return at

    async def _queue(
        self, connection: Connection, tenant_id: int, job: int, at: datetime, blocker: datetime
    ) -> None:
        if await connection.fetchval(self._sql["queued"], tenant_id, job) >= QUEUE_LIMIT:
            raise Conflict(f"{QUEUE_LIMIT} executions of this job wait for one another already")
        await connection.execute(self._sql["queue_execution"], tenant_id, at, job, blocker)

    async def _lock_job(self, connection: Connection, tenant_id: int, job: int) -> asyncpg.Record:
        row = await connection.fetchrow(queries("define")["lock_job"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        if row["status"] == JobStatus.CANCELLED:
            raise Conflict(f"job {job_id(job)} is cancelled: create a new one")
        return row


def _fired_last(row: asyncpg.Record, rule: LockedRule | None) -> list[datetime | None]:
    """The due times after which nothing was fired; a round that is half-way may have come past the job or not."""
    if rule is None:
        return [row["scheduled_for"]]
    return [rule.last_at, rule.next_at] if rule.cursor else [rule.last_at]
