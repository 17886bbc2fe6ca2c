"""Questions of users: the SQL behind every list and look."""

from collections.abc import Sequence
from datetime import datetime

import asyncpg
import msgspec

from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.errors import NotFound
from tickwork.model.execution import (
    AttemptOutcome,
    AttemptView,
    ExecutionKey,
    ExecutionView,
    MissedView,
    WaitingFor,
)  # fmt: skip
from tickwork.model.field_types import Page
from tickwork.model.job import JobView
from tickwork.model.job_change_record import JobChange
from tickwork.model.job_graph import JobGraph
from tickwork.model.process_limits import UsageView
from tickwork.model.public_ids import execution_id, job_id, parse_worker_id, worker_id
from tickwork.model.worker import WorkerFilter, WorkerSort, WorkerView
from tickwork.store.log_store import entries_of
from tickwork.store.page_cursor import (
    ChangePlace,
    WorkerNamePlace,
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
    change_of,
    creation_of,
    current_attempt,
    execution_of,
    graph_job_of,
    job_of,
    with_worker_log_and_usage,
    worker_of,
)

_SEEN = 5000  # executions that are looked through at most for what one waits for
_LARGEST_WORKER = 2**31 - 1
_LARGEST_NUMBER = 2**63 - 1  # of an event


class PostgresReadStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("read_jobs_executions_workers")

    async def now(self) -> datetime:
        return await self._database.now()

    async def jobs_by_id(self, tenant_id: int, jobs: Sequence[int]) -> list[JobView]:
        rows = await self._database.fetch(self._sql["jobs_by_id"], tenant_id, list(jobs))
        views = {row["id"]: job_of(row) for row in rows}
        for job in jobs:
            if job not in views:
                raise NotFound("job", job_id(job))
        return [views[job] for job in jobs]

    async def changes(self, tenant_id: int, job: int, limit: int, cursor: str | None) -> Page[JobChange]:
        created = await self._database.fetchrow(self._sql["created"], tenant_id, job)
        if created is None:
            raise NotFound("job", job_id(job))
        before = decode_cursor(cursor, ChangePlace).number if cursor else _LARGEST_NUMBER
        rows = await self._database.fetch(self._sql["changes_of_job"], tenant_id, job, before, limit)
        changes = [change_of(row) for row in rows]
        if len(rows) == limit:
            end = min(rows[-1]["number"], _LARGEST_NUMBER - 1)
            return Page(changes, encode_cursor(ChangePlace("changes", end)))
        return Page([*changes, creation_of(created)])

    async def graph(self, tenant_id: int, job: int, limit: int) -> JobGraph:
        rows = await self._database.fetch(
            queries("write_dependencies")["dependency_graph"], tenant_id, job, limit + 1
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
        root = await self._database.fetchrow(
            queries("write_dependencies")["root_of_wait"], job, scheduled_for, _SEEN
        )
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
        usage = await self._usage(ExecutionKey(tenant_id, scheduled_for, job))
        return [with_worker_log_and_usage(attempt, workers, tails, usage) for attempt in attempts]

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

    async def _usage(self, key: ExecutionKey) -> dict[int, UsageView]:
        rows = await self._database.fetch(self._sql["usage_of_attempts"], *key)
        return {row["attempt"]: UsageView(row["cpu_seconds"], row["peak_memory"]) for row in rows}

    async def missed(self, tenant_id: int, job: int, limit: int) -> list[MissedView]:
        rows = await self._database.fetch(self._sql["missed_of_job"], tenant_id, job, limit)
        return [MissedView(begin=row[0], end=row[1], count=row[2], reason=row[3]) for row in rows]

    async def workers(
        self, tenant_id: int, wanted: WorkerFilter, limit: int, cursor: str | None
    ) -> Page[WorkerView]:
        """One row more than the page has says whether there is another one."""
        query, place = _worker_place(wanted.sort, cursor)
        rows = await self._database.fetch(
            self._sql[query], tenant_id, NOTIFY_TASK, *_filter_values(wanted), *place, limit + 1
        )
        end = _end_of_workers(wanted.sort, rows[limit - 1]) if len(rows) > limit else None
        return Page([worker_of(row) for row in rows[:limit]], encode_cursor(end))

    async def worker(self, tenant_id: int, worker: int) -> WorkerView:
        number = min(worker, _LARGEST_WORKER - 1)
        row = await self._database.fetchrow(self._sql["worker"], tenant_id, NOTIFY_TASK, number)
        if row is None:
            raise NotFound("worker", worker_id(worker))
        return worker_of(row)


def _filter_values(wanted: WorkerFilter) -> list[object]:
    labels = msgspec.json.encode(wanted.labels).decode()
    return [
        wanted.status, wanted.queue, wanted.task, labels, wanted.label_names, wanted.host, wanted.version, wanted.q,
    ]  # fmt: skip


def _worker_place(sort: WorkerSort, cursor: str | None) -> tuple[str, tuple[object, ...]]:
    """The query of a list of workers, and where its page begins."""
    if sort == "name":
        after = (
            decode_cursor(cursor, WorkerNamePlace) if cursor else WorkerNamePlace("workers by name", "", 0)
        )
        return "workers_by_name", (after.name, after.id)
    return "newest_workers", (decode_cursor(cursor, WorkerPlace).id if cursor else _LARGEST_WORKER,)


def _end_of_workers(sort: WorkerSort, row: asyncpg.Record) -> WorkerPlace | WorkerNamePlace:
    if sort == "name":
        return WorkerNamePlace("workers by name", row["name"], row["id"])
    return WorkerPlace("workers", row["id"])
