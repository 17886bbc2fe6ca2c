"""What there is to decide before a paused cluster is resumed: over all tenants, for operators."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import asyncpg
import msgspec

from tickwork.model.execution import ExecutionKey
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import execution_id, job_id
from tickwork.model.resume_cluster import InterruptedExecution, OverdueExecution
from tickwork.store.pool import Database
from tickwork.store.port.trigger import DueRule
from tickwork.store.query_files import queries
from tickwork.store.trigger_store import due_rule

_MOST_COUNTED = 10_000


class JobOfRule(NamedTuple):
    id: int
    rule_id: int
    name: str | None
    key: str | None
    task: str
    tenant: str


class Decisions(NamedTuple):
    """How many there are, each up to 10,000."""

    missed_jobs: int
    interrupted: int
    overdue: int


class PostgresResumeReportStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("resume_report")

    async def now(self) -> datetime:
        return await self._database.now()

    async def count(self) -> Decisions:
        names = ("count_jobs_past_due", "count_interrupted", "count_overdue_executions")
        counts = [(await self._database.fetch(self._sql[name], _MOST_COUNTED))[0][0] for name in names]
        return Decisions(*counts)

    async def rules_past_due(self, limit: int) -> list[DueRule]:
        return [due_rule(row) for row in await self._database.fetch(self._sql["rules_past_due"], limit)]

    async def jobs_of_rules(self, rules: Sequence[int], limit: int) -> list[JobOfRule]:
        rows = await self._database.fetch(self._sql["jobs_past_due"], rules, limit)
        return [JobOfRule(*row) for row in rows]

    async def interrupted(self, limit: int) -> list[tuple[ExecutionKey, InterruptedExecution]]:
        rows = await self._database.fetch(self._sql["interrupted"], limit)
        return [(_key(row), _interrupted(row)) for row in rows]

    async def overdue(self, limit: int) -> list[tuple[ExecutionKey, OverdueExecution]]:
        rows = await self._database.fetch(self._sql["overdue"], limit)
        return [(_key(row), _overdue(row)) for row in rows]


def _key(row: asyncpg.Record) -> ExecutionKey:
    return ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"])


def _interrupted(row: asyncpg.Record) -> InterruptedExecution:
    return InterruptedExecution(
        tenant=row["tenant"],
        id=execution_id(row["job_id"], row["scheduled_for"]),
        job_id=job_id(row["job_id"]),
        name=row["name"],
        task=row["task"],
        scheduled_for=row["scheduled_for"],
        attempt=row["attempt"],
        started_at=row["started_at"],
        worker=row["worker"],
        on_worker_lost=_on_worker_lost(row["definition"]),
    )


def _on_worker_lost(definition: bytes) -> Literal["retry", "fail"] | None:
    try:
        return msgspec.json.decode(definition, type=JobRequest).on_worker_lost
    except (TypeError, ValueError):
        return None


def _overdue(row: asyncpg.Record) -> OverdueExecution:
    return OverdueExecution(
        tenant=row["tenant"],
        id=execution_id(row["job_id"], row["scheduled_for"]),
        job_id=job_id(row["job_id"]),
        name=row["name"],
        task=row["task"],
        scheduled_for=row["scheduled_for"],
        attempt=row["attempt"],
        one_time=row["one_time"],
    )
