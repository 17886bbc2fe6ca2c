"""Creates manual runs.

Unless executions of the job may overlap, the transaction locks the rule before it reads the job. So a manual run comes
either before or after each chunk that is fired, and both see each other.
"""

from datetime import datetime

import asyncpg

from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import Trigger
from tickwork.model.job import JobStatus
from tickwork.model.overlap import QUEUE_LIMIT, Blocker, Overlap, Queue, Replace, Skip, decide
from tickwork.model.public_ids import execution_id, job_id
from tickwork.store.add_move_and_stop_unstarted_executions import UnstartedExecutions
from tickwork.store.lock_schedule_rules import LockedRule, RuleMembership, retry_on_conflict
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries
from tickwork.store.queue_store import refuse_if_full
from tickwork.store.run_on_named_worker import lane_on_worker


class PostgresRunNowStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, tenant_id: int, job: int, overlap: Overlap, worker: str | None = None) -> datetime:
        return await retry_on_conflict(lambda: self._run(tenant_id, job, overlap, worker))

    async def _run(self, tenant_id: int, job: int, overlap: Overlap, worker: str | None) -> datetime:
        async with self._database.transaction() as connection:
            members = RuleMembership(connection, tenant_id)
            rules = await members.lock([], [] if overlap == "allow" else [await members.rule_of(job)])
            row = await self._lock_job(connection, tenant_id, job)
            unstarted = UnstartedExecutions(connection, tenant_id, job)
            blocker: Blocker | None = None
            if overlap != "allow":
                blocker = await unstarted.blocker(_fired_last(row, rules.get(row["rule_id"])))
            decision = decide(overlap, blocker)
            if isinstance(decision, Skip):
                raise Conflict(_refusal(job, decision))
            if isinstance(decision, Replace):
                await unstarted.cancel_replaced(decision)
            await refuse_if_full(connection, [row["lane_id"]])
            lane = row["lane_id"]
            if worker is not None:
                lane = await lane_on_worker(connection, tenant_id, lane, worker)
            at = await unstarted.add(lane, row["priority"], await members.now(), Trigger.MANUAL)
            if isinstance(decision, Queue):
                await unstarted.queue(at, decision)
        return at

    async def _lock_job(self, connection: Connection, tenant_id: int, job: int) -> asyncpg.Record:
        row = await connection.fetchrow(queries("create_and_change_job")["lock_job"], tenant_id, job)
        if row is None:
            raise NotFound("job", job_id(job))
        if row["status"] == JobStatus.CANCELLED:
            raise Conflict(f"job {job_id(job)} is cancelled: create a new one")
        return row


def _refusal(job: int, skip: Skip) -> str:
    if skip.queue_is_full:
        return f"{QUEUE_LIMIT} executions of this job wait for one another already"
    return f"execution {execution_id(job, skip.blocked_by)} of this job has not ended"


def _fired_last(row: asyncpg.Record, rule: LockedRule | None) -> list[datetime | None]:
    """The due times that may have the latest execution of the job: two, while its rule fires a round."""
    if rule is None:
        return [row["scheduled_for"]]
    return [rule.last_at, rule.next_at] if rule.cursor else [rule.last_at]
