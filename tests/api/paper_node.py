"""A node on paper: enough of one to answer HTTP requests without a database.

It keeps jobs in a dict and writes down what it was asked. What it gives back is fixed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from tickwork.model.access import Caller, KeyView, Scope
from tickwork.model.attempt_log import AttemptProgress, LogEntry
from tickwork.model.backfill import BackfillPlan, BackfillStatus, BackfillView
from tickwork.model.circuit_breaker import BreakerState, BreakerView
from tickwork.model.dead_letter import Discarded, Redriven
from tickwork.model.errors import Conflict, Invalid, KeyReused, NotFound, Stale
from tickwork.model.execution import ExecutionStatus, ExecutionView, Trigger
from tickwork.model.ids import backfill_id, execution_id, job_id, key_id, worker_id
from tickwork.model.job import CatchUp, CreatedJob, GraphJob, JobGraph, JobStatus, JobView, running
from tickwork.model.page import Page
from tickwork.model.queue import QueueView
from tickwork.model.rest_worker import (
    ClaimedExecution,
    ClaimedWork,
    Heartbeat,
    RegisteredWorker,
    ReportedAttempt,
    StopRequest,
)
from tickwork.model.retry_policy import RetryPolicy
from tickwork.model.schedule import Preview
from tickwork.model.why_waiting import Cause, Why
from tickwork.model.worker import TaskView, WorkerView

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
CALLERS = {
    scope.value: Caller(tenant_id=1, tenant="default", key_id=number, scopes=frozenset({scope}))
    for number, scope in enumerate(Scope)
} | {"foreign": Caller(tenant_id=2, tenant="other", key_id=9, scopes=frozenset({Scope.ADMIN}))}


def job_view(number, request, version=1):
    return JobView(
        id=job_id(number),
        name=request.name,
        key=request.key,
        status=JobStatus.ACTIVE,
        task=request.task,
        http=request.http,
        payload=msgspec.Raw(b"{}"),
        schedule={"at": "2026-01-31T12:00:00Z"},
        schedule_words="once",
        next_run_at=NOON,
        priority=running(request).priority,
        queue=running(request).queue,
        retry=RetryPolicy(),
        timeout=300.0,
        on_worker_lost=request.on_worker_lost,
        overlap=request.overlap,
        catch_up=CatchUp(),
        tags=request.tags,
        version=version,
        created_at=NOON,
        updated_at=NOON,
    )


def execution_view(job, scheduled_for=NOON):
    return ExecutionView(
        id=execution_id(job, scheduled_for),
        job_id=job_id(job),
        task="report",
        status=ExecutionStatus.PENDING,
        waiting_for=None,
        trigger=Trigger.MANUAL,
        scheduled_for=scheduled_for,
        due_at=scheduled_for,
        started_at=None,
        finished_at=None,
        attempt=0,
        max_attempts=4,
        worker=None,
        progress=None,
        result=None,
        error=None,
        reason=None,
    )


class PaperJobs:
    def __init__(self):
        self.kept = {}
        self.asked = []

    async def create(self, tenant_id, requests):
        wrong = [bad for bad in requests if bad.task == "explode"]
        if wrong:
            raise RuntimeError("the password is hunter2")
        if any(request.schedule == "never" for request in requests):
            raise Invalid.field("schedule" if len(requests) == 1 else "[1].schedule", "never fires")
        views = [job_view(len(self.kept) + number, request) for number, request in enumerate(requests, 1)]
        self.kept |= {(tenant_id, view.id): view for view in views}
        return views

    async def create_one(self, tenant_id, request):
        return (await self.create(tenant_id, [request]))[0]

    async def create_many(self, tenant_id, requests):
        return [
            CreatedJob(view.id, view.key, view.next_run_at) for view in await self.create(tenant_id, requests)
        ]

    async def find(self, _tenant_id, key):
        raise NotFound("job", f"key:{key}")

    async def get(self, tenant_id, job):
        try:
            return self.kept[tenant_id, job_id(job)]
        except KeyError:
            raise NotFound("job", job_id(job)) from None

    async def graph(self, tenant_id, job):
        view = await self.get(tenant_id, job)
        alone = GraphJob(
            job_id=view.id, name=view.name, key=view.key, task=view.task or "http", depends_on=[], execution_id=None,
            scheduled_for=None, status=None, waiting_for=None, started_at=None, finished_at=None,
        )  # fmt: skip
        return JobGraph([alone], truncated=False)

    async def list(self, tenant_id, wanted, limit, cursor):
        self.asked.append((wanted, limit, cursor))
        return Page([view for (tenant, _), view in self.kept.items() if tenant == tenant_id])

    async def patch(self, tenant_id, job, patch, if_match):
        view = await self.get(tenant_id, job)
        self.asked.append((patch, if_match))
        if if_match not in (None, view.version):
            raise Stale("the job is at another version")
        return view

    async def cancel(self, tenant_id, job, if_match):
        return await self.patch(tenant_id, job, {}, if_match)

    async def pause(self, _tenant_id, _job):
        raise Conflict("the job has ended")

    resume = get


class PaperRuns:
    def __init__(self, jobs):
        self._jobs = jobs
        self.asked = []

    async def run(self, tenant_id, job, overlap):
        await self._jobs.get(tenant_id, job)
        self.asked.append(overlap)
        return execution_view(job)


class PaperBackfills:
    def __init__(self, jobs):
        self._jobs = jobs
        self.asked = []

    async def plan(self, tenant_id, job, request):
        await self._jobs.get(tenant_id, job)
        self.asked.append(request)
        return BackfillPlan(31, request.from_, request.to)

    async def start(self, tenant_id, job, request):
        await self.plan(tenant_id, job, request)
        return await self.get(tenant_id, 4)

    async def get(self, tenant_id, backfill):
        if (tenant_id, backfill) != (1, 4):
            raise NotFound("backfill", backfill_id(backfill))
        return BackfillView(
            id=backfill_id(backfill),
            job_id=job_id(1),
            from_=NOON,
            to=NOON,
            order="oldest",
            policy="missing",
            max_active=1,
            total=31,
            made=2,
            active=1,
            completed=1,
            failed=0,
            status=BackfillStatus.RUNNING,
            created_at=NOON,
            ended_at=None,
        )

    cancel = get

    async def list(self, tenant_id, job, limit, cursor):
        self.asked.append((job, limit, cursor))
        return Page([await self.get(tenant_id, 4)], "more")


class PaperHistory:
    def __init__(self):
        self.asked = []

    async def list(self, _tenant_id, wanted, limit, cursor):
        self.asked.append((wanted, limit, cursor))
        return Page([execution_view(1)], "more")

    async def get(self, _tenant_id, job, scheduled_for):
        return execution_view(job, scheduled_for)

    cancel = get

    async def attempts(self, _tenant_id, _job, _scheduled_for):
        return []

    async def missed(self, _tenant_id, _job, _limit):
        return []


class PaperDeadLetters:
    def __init__(self):
        self.asked = []

    async def list(self, _tenant_id, wanted, limit, cursor):
        self.asked.append((wanted, limit, cursor))
        return Page([], "more")

    async def redrive(self, _tenant_id, choice, pace):
        self.asked.append((choice, pace))
        return Redriven(redriven=2, as_of=NOON, last_at=NOON)

    async def discard(self, _tenant_id, choice):
        self.asked.append(choice)
        return Discarded(discarded=2)

    async def retry(self, _tenant_id, job, scheduled_for):
        return execution_view(job, scheduled_for)

    async def retry_job(self, _tenant_id, job):
        return execution_view(job)


class PaperLogs:
    def __init__(self):
        self.asked = []

    async def page(self, _tenant_id, _job, _scheduled_for, attempt, limit, cursor):
        self.asked.append((attempt, limit, cursor))
        return Page([LogEntry(attempt=1, line=0, at=NOON, level="info", text="hello")], "more")

    async def tail(self, _tenant_id, _job, _scheduled_for, _attempt, _count):
        return []

    async def follow(self, _tenant_id, _job, _scheduled_for, attempt, begin):
        self.asked.append((attempt, begin))
        yield LogEntry(attempt=1, line=0, at=NOON, level="info", text="hello")
        yield AttemptProgress(attempt=1, fraction=0.5)
        yield None
        yield ExecutionStatus.COMPLETED


class PaperBreakers:
    async def list(self, _tenant_id):
        return [await self.reset(1, "https://api.example.com")]

    async def reset(self, _tenant_id, destination):
        return BreakerView(
            destination=destination,
            state=BreakerState.CLOSED,
            since=NOON,
            reason=None,
            failures_in_a_row=0,
            calls=0,
            failures=0,
            last_error=None,
            next_probe_at=None,
            waiting=0,
        )


class PaperQueues:
    def __init__(self):
        self.asked = []
        self.measured = 0

    async def list(self, _tenant_id, limit, cursor):
        self.asked.append((limit, cursor))
        return Page([await self.get(1, "mail")], "more")

    async def get(self, _tenant_id, name):
        if name not in ("mail", "{name}"):
            raise NotFound("queue", name)
        return QueueView(
            name=name,
            paused=False,
            max_running=10,
            rate="100/1m",
            max_backlog=None,
            depth=3,
            depth_is_exact=True,
            depth_by_priority={"critical": 0, "high": 1, "normal": 2, "low": 0},
            running=10,
            oldest_age=1.5,
        )

    pause = resume = get

    async def set(self, tenant_id, name, settings):
        self.asked.append((name, settings))
        return await self.get(tenant_id, name)

    async def measure(self):
        self.measured += 1


class PaperReasons:
    async def of(self, _tenant_id, _job, _scheduled_for):
        cause = Cause(kind="due", message="it is due soon", at=NOON)
        return Why(
            status=ExecutionStatus.PENDING,
            summary="It is due soon.",
            causes=[cause],
            expected_start=NOON,
            expected_start_reason=None,
        )


class PaperWorkers:
    async def list(self, _tenant_id, _limit, _cursor):
        return Page([await self.get(1, 7)])

    async def get(self, _tenant_id, worker):
        return WorkerView(
            id=worker_id(worker),
            name="one",
            status="online",
            protocol="rest",
            host="here",
            version="1",
            tasks=["report"],
            queues=["default"],
            weights={},
            slots=4,
            holding=0,
            labels={},
            resources={},
            resources_used={},
            started_at=NOON,
            heartbeat_at=NOON,
            lease_until=NOON,
            ended_at=None,
        )

    drain = get


class PaperRestWorkers:
    def __init__(self):
        self.asked = []

    async def register(self, _tenant_id, request):
        self.asked.append(request)
        return RegisteredWorker(worker_id(7), 15.0, 3.0)

    async def heartbeat(self, _tenant_id, _worker):
        return Heartbeat(15.0, True, [StopRequest(execution_id(1, NOON), 1, "by\thand")])

    async def claim(self, _tenant_id, _worker, request):
        self.asked.append(request)
        run = ClaimedExecution(
            id=execution_id(1, NOON),
            attempt=1,
            task="report",
            payload=msgspec.Raw(b'{"to": "a\\tb",\n "n": 1}'),
            timeout=300.0,
            scheduled_for=NOON,
            deadline=NOON,
            parents=[],
        )
        return ClaimedWork([run], drain=False)


class PaperReports:
    def __init__(self):
        self.asked = []

    async def _report(self, _tenant_id, job, scheduled_for, report):
        self.asked.append(report)
        return ReportedAttempt(execution_id(job, scheduled_for), report.attempt, None)

    start = progress = complete = fail = _report


class PaperTasks:
    async def list(self, _tenant_id):
        return [TaskView(name="report", parameters={}, description=None, workers=[])]


class PaperKeys:
    async def authenticate(self, secret):
        return CALLERS.get(secret)

    async def create(self, caller, name, scopes, _tenant, expires_at):
        return self._view(caller, name, scopes, expires_at), "tw_secret"

    async def list(self, caller):
        return [self._view(caller, "one", [Scope.READ], None)]

    async def revoke(self, caller, _key):
        return self._view(caller, "one", [Scope.READ], None)

    async def is_valid(self, _key):
        return True

    def _view(self, caller, name, scopes, expires_at):
        return KeyView(
            id=key_id(3),
            tenant=caller.tenant,
            name=name,
            prefix="tw_s",
            scopes=scopes,
            created_at=NOON,
            expires_at=expires_at,
            last_used_at=None,
            revoked_at=None,
        )


@dataclass
class Stored:
    status: int
    headers: dict
    body: bytes


@dataclass
class PaperEntry:
    replay: Stored | None = None
    saved: Stored | None = None

    async def save(self, status, headers, body):
        self.saved = Stored(status, headers, body)


@dataclass
class PaperIdempotency:
    answers: dict = field(default_factory=dict)
    in_flight: set = field(default_factory=set)

    @asynccontextmanager
    async def begin(self, tenant_id, key, fingerprint) -> AsyncIterator[PaperEntry]:
        if (tenant_id, key) in self.in_flight:
            raise Conflict("a request with this Idempotency-Key is still being worked on")
        known, stored = self.answers.get((tenant_id, key), (fingerprint, None))
        if known != fingerprint:
            raise KeyReused
        entry = PaperEntry(stored)
        yield entry
        if entry.saved:
            self.answers[tenant_id, key] = (fingerprint, entry.saved)


class EchoGateway:
    """Sends every message back, and ends when told."""

    async def attend(self, caller, socket):
        while (message := await socket.receive()) is not None:
            if message == b"explode":
                raise RuntimeError("the password is hunter2")
            if message == b"end":
                return
            await socket.send(caller.tenant.encode() + b":" + message)


class PaperNode:
    def __init__(self):
        self.jobs = PaperJobs()
        self.runs = PaperRuns(self.jobs)
        self.backfills = PaperBackfills(self.jobs)
        self.history = PaperHistory()
        self.logs = PaperLogs()
        self.dead_letters = PaperDeadLetters()
        self.breakers = PaperBreakers()
        self.queues = PaperQueues()
        self.reasons = PaperReasons()
        self.workers = PaperWorkers()
        self.rest_workers = PaperRestWorkers()
        self.reports = PaperReports()
        self.tasks = PaperTasks()
        self.keys = PaperKeys()
        self.idempotency = PaperIdempotency()
        self.gateway = EchoGateway()
        self.is_ready = True

    async def preview(self, schedule, _timezone, _after, _count, _viewer_timezone):
        return Preview(canonical={"cron": schedule}, words="words", times=[], warnings=[])

    def health(self):
        return {"database": None if self.is_ready else ""}

    def ready(self):
        return self.is_ready
