"""Questions of users: the SQL behind every list and look."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any

import asyncpg
import msgspec

from tickwork.model.errors import NotFound
from tickwork.model.execution import (
    AttemptError,
    AttemptOutcome,
    AttemptView,
    Blocking,
    ExecutionFilter,
    ExecutionKey,
    ExecutionStatus,
    ExecutionView,
    MissedView,
    Trigger,
    WaitingFor,
)  # fmt: skip
from tickwork.model.ids import execution_id, from_micros, job_id, parse_worker_id, to_micros, worker_id
from tickwork.model.instant import to_utc
from tickwork.model.job import (
    PRIORITIES,
    GraphJob,
    JobFilter,
    JobGraph,
    JobRequest,
    JobStatus,
    JobView,
    job_view,
)
from tickwork.model.json_limits import raw_json
from tickwork.model.page import Page
from tickwork.model.schedule import describe_once
from tickwork.model.worker import LEASE, TaskView, WorkerView
from tickwork.schedule.timing import timing_from_text
from tickwork.store.batch_columns import stored
from tickwork.store.log_store import entries_of, progress_of
from tickwork.store.page_cursor import (
    ExecutionPlace,
    JobPlace,
    NextRunPlace,
    Place,
    WorkerPlace,
    decode_cursor,
    encode_cursor,
)
from tickwork.store.pool import Database
from tickwork.store.port.dispatch import NO_CONNECTION
from tickwork.store.query_files import queries

_DESCRIBED = 10_000  # schedules whose words are kept
_SEEN = 5000  # rows one page looks through at most, for those that fit a filter
_TAIL = 20  # lines of each attempt's log
_BROKEN_RESULT = "what is stored as its result is not valid JSON, and is not shown"
_LARGEST = 2**63 - 1
_LARGEST_WORKER = 2**31 - 1
_NEXT_RUNS_BEGIN = NextRunPlace("jobs by next run", 0, 0, -1, 0)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(9999, 1, 1, tzinfo=UTC)


class PostgresReadStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("read")

    async def now(self) -> datetime:
        (row,) = await self._database.fetch(self._sql["clock"])
        now: datetime = row["now"]
        return now

    async def jobs_by_id(self, tenant_id: int, jobs: Sequence[int]) -> list[JobView]:
        rows = await self._database.fetch(self._sql["jobs_by_id"], tenant_id, list(jobs))
        views = {row["id"]: self._job(row) for row in rows}
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
        return Page([self._job(row) for row in items], None if wanted.key else encode_cursor(end))

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
        return Page([self._job(row) for row in items], encode_cursor(end))

    async def graph(self, tenant_id: int, job: int, limit: int) -> JobGraph:
        rows = await self._database.fetch(
            queries("dependency")["dependency_graph"], tenant_id, job, limit + 1
        )
        if not rows:
            raise NotFound("job", job_id(job))
        return JobGraph([_graph_job(row) for row in rows[:limit]], truncated=len(rows) > limit)

    async def execution(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView:
        row = await self._database.fetchrow(self._sql["execution"], tenant_id, scheduled_for, job)
        if row is None:
            raise NotFound("execution", execution_id(job, scheduled_for))
        execution = _execution(row)
        if execution.waiting_for is not WaitingFor.DEPENDENCY:
            return execution
        root = await self._database.fetchrow(queries("dependency")["root_of_wait"], job, scheduled_for, _SEEN)
        return msgspec.structs.replace(execution, blocked_by=_blocking(root) if root else None)

    async def executions_by_key(self, keys: Sequence[ExecutionKey]) -> list[ExecutionView]:
        rows = await self._database.fetch(self._sql["executions_by_key"], *map(list, zip(*keys, strict=True)))
        return [_execution(row) for row in rows]

    async def ended(self, keys: Sequence[ExecutionKey]) -> list[ExecutionKey]:
        rows = await self._database.fetch(self._sql["ended"], *map(list, zip(*keys, strict=True)))
        return [ExecutionKey(*row) for row in rows]

    async def executions(
        self, tenant_id: int, wanted: ExecutionFilter, limit: int, cursor: str | None
    ) -> Page[ExecutionView]:
        before, job = _END, _LARGEST
        if cursor:
            _, micros, job = decode_cursor(cursor, ExecutionPlace)
            before = from_micros(micros)
        most = limit if wanted == ExecutionFilter(since=wanted.since, until=wanted.until) else _SEEN
        rows = await self._database.fetch(
            self._sql["executions" if wanted.job is None else "executions_of_job"],
            tenant_id, before, job if wanted.job is None else wanted.job, _utc(wanted.since) or _BEGINNING,
            _utc(wanted.until) or _END, most, limit, wanted.status, wanted.task, wanted.queue,
            None if wanted.worker is None else min(wanted.worker, _LARGEST_WORKER),
        )  # fmt: skip
        items = [row for row in rows if row["job_id"] is not None]
        end = _page_end(
            rows,
            items,
            limit,
            most,
            lambda row: ExecutionPlace("executions", to_micros(row["scheduled_for"]), row["job_id"]),
            lambda row: ExecutionPlace("executions", to_micros(row["seen_time"]), row["seen_job"]),
        )
        return Page([_execution(row) for row in items], encode_cursor(end))

    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime) -> list[AttemptView]:
        execution = await self.execution(tenant_id, job, scheduled_for)
        rows = await self._database.fetch(self._sql["attempts"], tenant_id, scheduled_for, job)
        attempts = [_attempt(row) for row in rows]
        current = _current_attempt(execution)
        noted = {attempt.attempt for attempt in attempts}
        if current and current.attempt not in noted:
            attempts.append(current)
        workers = await self._workers_of(attempts)
        tails = await self._log_tails(ExecutionKey(tenant_id, scheduled_for, job), attempts)
        return [_with_background(attempt, workers, tails) for attempt in attempts]

    async def _workers_of(self, attempts: Sequence[AttemptView]) -> dict[str, asyncpg.Record]:
        numbers = [parse_worker_id(attempt.worker) for attempt in attempts if attempt.worker]
        rows = await self._database.fetch(self._sql["worker_names"], numbers)
        return {worker_id(row["id"]): row for row in rows}

    async def _log_tails(self, key: ExecutionKey, attempts: Sequence[AttemptView]) -> dict[int, list[str]]:
        failed = [each.attempt for each in attempts if each.outcome not in (None, AttemptOutcome.COMPLETED)]
        rows = await self._database.fetch(queries("log")["last_log_lines"], *key, failed, _TAIL, True)
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
        return Page([_worker(row) for row in rows], encode_cursor(end))

    async def worker(self, tenant_id: int, worker: int) -> WorkerView:
        number = min(worker, _LARGEST_WORKER - 1)
        row = await self._database.fetchrow(self._sql["workers"], tenant_id, _LARGEST_WORKER, 1, number)
        if row is None:
            raise NotFound("worker", worker_id(worker))
        return _worker(row)

    async def tasks(self, tenant_id: int) -> list[TaskView]:
        return [_task(row) for row in await self._database.fetch(self._sql["tasks"], tenant_id)]

    def _job(self, row: asyncpg.Record) -> JobView:
        schedule, words = self._schedule(row)
        return job_view(
            _request(row),
            row["payload"],
            number=row["id"],
            status=JobStatus(row["status"]),
            schedule=schedule,
            words=words,
            next_run_at=row["next_run_at"],
            once_at=row["scheduled_for"] if row["timing"] is None else None,
            version=row["version"],
            created_at=row["created_at"],
            updated_at=row["updated_at"],
        )

    def _schedule(self, row: asyncpg.Record) -> tuple[dict[str, Any], str]:
        if row["timing"] is None:
            return describe_once(row["scheduled_for"])
        return _describe(row["timing"])


@lru_cache(maxsize=_DESCRIBED)
def _describe(text: str) -> tuple[dict[str, Any], str]:
    try:
        timing = timing_from_text(text)
    except Exception:  # noqa: BLE001 (whatever is wrong with it, the jobs beside it are shown)
        return {}, "what is stored as its schedule cannot be read"
    return timing.canonical, timing.words


def _request(row: asyncpg.Record) -> JobRequest:
    """As it was made; nothing but its task when that cannot be read, so that the others beside it are shown."""
    return stored(row["definition"], JobRequest) or JobRequest(task=row["task"])


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


def _graph_job(row: asyncpg.Record) -> GraphJob:
    at = row["scheduled_for"]
    return GraphJob(
        job_id=job_id(row["id"]),
        name=row["name"],
        key=row["key"],
        task=row["task"],
        depends_on=[job_id(parent) for parent in row["parents"]],
        execution_id=execution_id(row["id"], at) if at else None,
        scheduled_for=at,
        status=ExecutionStatus(row["status"]) if at else None,
        waiting_for=WaitingFor(row["waiting_for"]) if row["waiting_for"] else None,
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )


def _blocking(row: asyncpg.Record) -> Blocking:
    name = execution_id(row["job_id"], row["scheduled_for"])
    return Blocking(name, job_id(row["job_id"]), ExecutionStatus(row["status"]))


def _last_attempt(row: asyncpg.Record, max_attempts: int) -> int:
    """The number that its last attempt would have if every one from here on failed. Attempts that used up no try,
    and those from before it was redriven, come on top of what the job allows."""
    attempt: int = row["attempt"]
    this_one_failed = row["status"] == ExecutionStatus.FAILED and row["error"] is not None
    failed_before: int = row["failures"] - this_one_failed
    return max(attempt, attempt - 1 + max_attempts - failed_before)


def _execution(row: asyncpg.Record) -> ExecutionView:
    request = _request(row)
    result = None if row["result"] is None else raw_json(row["result"])
    is_broken = row["result"] is not None and result is None
    return ExecutionView(
        id=execution_id(row["job_id"], row["scheduled_for"]),
        job_id=job_id(row["job_id"]),
        task=row["task"],
        status=ExecutionStatus(row["status"]),
        waiting_for=WaitingFor(row["waiting_for"]) if row["waiting_for"] else None,
        trigger=Trigger(row["trigger"]),
        scheduled_for=row["scheduled_for"],
        due_at=row["due_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        attempt=row["attempt"],
        max_attempts=_last_attempt(row, request.retry.policy().max_attempts),
        worker=worker_id(row["worker_id"]) if row["worker_id"] is not None else None,
        progress=progress_of(row["progress"]),
        result=result,
        error=stored(row["error"], AttemptError),
        reason=_BROKEN_RESULT if is_broken else row["reason"],
    )


def _attempt(row: asyncpg.Record) -> AttemptView:
    return AttemptView(
        attempt=row["attempt"],
        outcome=AttemptOutcome(row["outcome"]),
        worker=worker_id(row["worker_id"]) if row["worker_id"] is not None else None,
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        error=stored(row["error"], AttemptError),
    )


def _with_background(
    attempt: AttemptView, workers: Mapping[str, asyncpg.Record], tails: Mapping[int, Sequence[str]]
) -> AttemptView:
    worker = workers.get(attempt.worker or "")
    silent_for = None
    if worker and attempt.finished_at and attempt.outcome == AttemptOutcome.LOST:
        silent_for = max((attempt.finished_at - (worker["lease_until"] - LEASE)).total_seconds(), 0.0)
    return msgspec.structs.replace(
        attempt,
        worker_name=worker["name"] if worker else None,
        silent_for=silent_for,
        log_tail="\n".join(tails[attempt.attempt][-_TAIL:]) if attempt.attempt in tails else None,
    )


def _current_attempt(execution: ExecutionView) -> AttemptView | None:
    """The attempt that the execution itself tells of: the one that completed, or the one in a worker's hands."""
    if execution.worker is None:
        return None
    completed = execution.status == ExecutionStatus.COMPLETED
    cancelled = execution.status == ExecutionStatus.CANCELLED
    return AttemptView(
        attempt=execution.attempt,
        outcome=AttemptOutcome.COMPLETED if completed else AttemptOutcome.CANCELLED if cancelled else None,
        worker=execution.worker,
        started_at=execution.started_at,
        finished_at=execution.finished_at,
        error=None,
    )


def _worker(row: asyncpg.Record) -> WorkerView:
    alive = row["ended_at"] is None and row["lease_until"] > row["now"] - timedelta(seconds=1)
    return WorkerView(
        id=worker_id(row["id"]),
        name=row["name"],
        status="offline" if not alive else "draining" if row["draining"] else "online",
        protocol="rest" if row["connection"] == NO_CONNECTION else "websocket",
        host=row["host"],
        version=row["version"],
        tasks=row["tasks"],
        queues=row["queues"],
        weights=msgspec.json.decode(row["weights"]),
        slots=row["slots"],
        holding=row["holding"],
        labels=msgspec.json.decode(row["labels"]),
        resources=(resources := msgspec.json.decode(row["resources"])),
        resources_used=dict.fromkeys(resources, 0.0) | msgspec.json.decode(row["resources_used"] or "{}"),
        started_at=row["started_at"],
        heartbeat_at=row["lease_until"] - LEASE,
        lease_until=row["lease_until"],
        ended_at=row["ended_at"],
    )


def _task(row: asyncpg.Record) -> TaskView:
    return TaskView(
        name=row["name"],
        parameters=msgspec.json.decode(row["parameters"]),
        description=row["description"],
        defaults=msgspec.json.decode(row["defaults"]),
        workers=[worker_id(number) for number in row["workers"]],
    )
