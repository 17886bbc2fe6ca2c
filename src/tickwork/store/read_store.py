"""Questions of users: the SQL behind every list and look."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import asyncpg
import msgspec

from tickwork.model.errors import NotFound
from tickwork.model.execution import (
    AttemptOutcome,
    AttemptView,
    ExecutionKey,
    ExecutionView,
    MissedView,
    WaitingFor,
)  # fmt: skip
from tickwork.model.field_types import Page, to_utc
from tickwork.model.ids import execution_id, from_micros, job_id, parse_worker_id, to_micros, worker_id
from tickwork.model.job import (
    PRIORITIES,
    JobFilter,
    JobGraph,
    JobView,
)
from tickwork.model.task import TaskView
from tickwork.model.worker import WorkerView
from tickwork.store.log_store import entries_of
from tickwork.store.page_cursor import (
    JobPlace,
    NextRunPlace,
    Place,
    WorkerPlace,
    decode_cursor,
    encode_cursor,
)
from tickwork.store.pool import Database
from tickwork.store.query_files import queries
from tickwork.store.row_views import (
    LOG_TAIL,
    attempt_of,
    blocking_of,
    current_attempt,
    execution_of,
    graph_job_of,
    job_of,
    task_of,
    with_worker_and_log,
    worker_of,
)

_SEEN = 5000  # rows one page looks through at most, for those that fit a filter
_LARGEST = 2**63 - 1
_LARGEST_WORKER = 2**31 - 1
_NEXT_RUNS_BEGIN = NextRunPlace("jobs by next run", 0, 0, -1, 0)


class PostgresReadStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("read")

    async def now(self) -> datetime:
        return await self._database.now()

    async def jobs_by_id(self, tenant_id: int, jobs: Sequence[int]) -> list[JobView]:
        rows = await self._database.fetch(self._sql["jobs_by_id"], tenant_id, list(jobs))
        views = {row["id"]: job_of(row) for row in rows}
        for job in jobs:
            if job not in views:
                raise NotFound("job", job_id(job))
        return [views[job] for job in jobs]

    async def jobs(self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None) -> Page[JobView]:
        if wanted.sort == "next_run_at":
            return await self._jobs_by_next_run(tenant_id, wanted, limit, cursor)
        newest_first = wanted.sort == "-created_at"
        first = _LARGEST if newest_first else 0
        begin = decode_cursor(cursor, JobPlace).id if cursor else first
        most = limit if wanted == JobFilter(sort=wanted.sort) else _SEEN
        if wanted.key is not None:  # at most one job has it, so it is all that is to be looked through
            row = await self._database.fetchrow(self._sql["job_with_key"], tenant_id, wanted.key)
            if row is None:
                return Page([])
            begin, most = row["id"] + (1 if newest_first else -1), 1
        rows = await self._database.fetch(
            self._sql["jobs_newest_first" if newest_first else "jobs_oldest_first"],
            tenant_id, begin, most, limit, *_conditions(wanted),
        )  # fmt: skip
        items = [row for row in rows if row["id"] is not None]
        end = _page_end(
            rows,
            items,
            limit,
            most,
            lambda row: JobPlace("jobs", row["id"]),
            lambda row: JobPlace("jobs", row["seen_last"]),
        )
        return Page([job_of(row) for row in items], None if wanted.key else encode_cursor(end))

    async def _jobs_by_next_run(
        self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None
    ) -> Page[JobView]:
        begin = decode_cursor(cursor, NextRunPlace) if cursor else _NEXT_RUNS_BEGIN
        most = limit if wanted == JobFilter(sort=wanted.sort) else _SEEN
        rows = await self._database.fetch(
            self._sql["jobs_by_next_run"],
            tenant_id, begin.job, most, limit, *_conditions(wanted),
            from_micros(begin.time), begin.rule, begin.priority,
        )  # fmt: skip
        items = [row for row in rows if row["id"] is not None]
        end = _page_end(rows, items, limit, most, partial(_next_run_place, "place_at", "rule_id", "priority", "id"),
                        partial(_next_run_place, "seen_at", "seen_rule", "seen_priority", "seen_last"))  # fmt: skip
        return Page([job_of(row) for row in items], encode_cursor(end))

    async def graph(self, tenant_id: int, job: int, limit: int) -> JobGraph:
        rows = await self._database.fetch(
            queries("dependency")["dependency_graph"], tenant_id, job, limit + 1
        )
        if not rows:
            raise NotFound("job", job_id(job))
        return JobGraph([graph_job_of(row) for row in rows[:limit]], truncated=len(rows) > limit)

    async def execution(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView:
        row = await self._database.fetchrow(self._sql["execution"], tenant_id, scheduled_for, job)
        if row is None:
            raise NotFound("execution", execution_id(job, scheduled_for))
        execution = execution_of(row)
        if execution.waiting_for is not WaitingFor.DEPENDENCY:
            return execution
        root = await self._database.fetchrow(queries("dependency")["root_of_wait"], job, scheduled_for, _SEEN)
        return msgspec.structs.replace(execution, blocked_by=blocking_of(root) if root else None)

    async def executions_by_key(self, keys: Sequence[ExecutionKey]) -> list[ExecutionView]:
        rows = await self._database.fetch(self._sql["executions_by_key"], *map(list, zip(*keys, strict=True)))
        return [execution_of(row) for row in rows]

    async def ended(self, keys: Sequence[ExecutionKey]) -> list[ExecutionKey]:
        rows = await self._database.fetch(self._sql["ended"], *map(list, zip(*keys, strict=True)))
        return [ExecutionKey(*row) for row in rows]

    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime) -> list[AttemptView]:
        execution = await self.execution(tenant_id, job, scheduled_for)
        rows = await self._database.fetch(self._sql["attempts"], tenant_id, scheduled_for, job)
        attempts = [attempt_of(row) for row in rows]
        current = current_attempt(execution)
        noted = {attempt.attempt for attempt in attempts}
        if current and current.attempt not in noted:
            attempts.append(current)
        workers = await self._workers_of(attempts)
        tails = await self._log_tails(ExecutionKey(tenant_id, scheduled_for, job), attempts)
        return [with_worker_and_log(attempt, workers, tails) for attempt in attempts]

    async def _workers_of(self, attempts: Sequence[AttemptView]) -> dict[str, asyncpg.Record]:
        numbers = [parse_worker_id(attempt.worker) for attempt in attempts if attempt.worker]
        rows = await self._database.fetch(self._sql["worker_names"], numbers)
        return {worker_id(row["id"]): row for row in rows}

    async def _log_tails(self, key: ExecutionKey, attempts: Sequence[AttemptView]) -> dict[int, list[str]]:
        failed = [each.attempt for each in attempts if each.outcome not in (None, AttemptOutcome.COMPLETED)]
        rows = await self._database.fetch(queries("log")["last_log_lines"], *key, failed, LOG_TAIL, True)
        tails: dict[int, list[str]] = {}
        for row in rows:
            tails.setdefault(row["attempt"], []).extend(entry.text for entry in entries_of(row))
        return tails

    async def missed(self, tenant_id: int, job: int, limit: int) -> list[MissedView]:
        rows = await self._database.fetch(self._sql["missed_of_job"], tenant_id, job, limit)
        return [MissedView(begin=row[0], end=row[1], count=row[2], reason=row[3]) for row in rows]

    async def workers(self, tenant_id: int, limit: int, cursor: str | None) -> Page[WorkerView]:
        before = decode_cursor(cursor, WorkerPlace).id if cursor else _LARGEST_WORKER
        rows = await self._database.fetch(self._sql["workers"], tenant_id, before, limit, None)
        end = WorkerPlace("workers", rows[-1]["id"]) if len(rows) == limit else None
        return Page([worker_of(row) for row in rows], encode_cursor(end))

    async def worker(self, tenant_id: int, worker: int) -> WorkerView:
        number = min(worker, _LARGEST_WORKER - 1)
        row = await self._database.fetchrow(self._sql["workers"], tenant_id, _LARGEST_WORKER, 1, number)
        if row is None:
            raise NotFound("worker", worker_id(worker))
        return worker_of(row)

    async def tasks(self, tenant_id: int) -> list[TaskView]:
        return [task_of(row) for row in await self._database.fetch(self._sql["tasks"], tenant_id)]


def _page_end(
    rows: Sequence[asyncpg.Record],
    items: Sequence[asyncpg.Record],
    limit: int,
    most: int,
    place: Callable[[asyncpg.Record], Place],
    seen: Callable[[asyncpg.Record], Place],
) -> Place | None:
    """Where the next page begins: after the last item, or after the last row looked at when there may be more."""
    if len(items) == limit:
        return place(items[-1])
    return seen(rows[0]) if rows and rows[0]["seen_count"] == most else None


def _next_run_place(at: str, rule: str, priority: str, job: str, row: asyncpg.Record) -> NextRunPlace:
    return NextRunPlace("jobs by next run", to_micros(row[at]), row[rule], row[priority], row[job])


def _conditions(wanted: JobFilter) -> tuple[object, ...]:
    return (
        wanted.status, wanted.task, wanted.queue,
        PRIORITIES.index(wanted.priority) if wanted.priority else None,
        wanted.tag, wanted.q, _utc(wanted.due_before), _utc(wanted.due_after),
    )  # fmt: skip


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else to_utc(at)
