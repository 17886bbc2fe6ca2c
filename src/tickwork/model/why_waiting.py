"""Why an execution does not run, and what has to be known to say so."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

from tickwork.model.execution import ExecutionStatus
from tickwork.model.field_types import Instant
from tickwork.model.quantities import Rate
from tickwork.model.requires_limits_fair_share import Placement

AHEAD_LIMIT = 10_000  # counting stops here: a longer backlog is reported as "more than"
MOST_NAMED = 5  # a cause names at most this many executions or workers

CauseKind = Literal[
    "ended",
    "running",
    "paused",  # its job
    "dependency",
    "overlap",
    "breaker",
    "queue_paused",
    "cluster_paused",
    "due",
    "retry",
    "task_disabled",
    "payload",  # does not fit its task, or is about to be checked
    "no_task",
    "not_allowed",  # the program of its command
    "no_worker",
    "worker",  # the only one that may run it is away
    "label",
    "resource",
    "limit",
    "rate",
    "busy",
]


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an execution waits for."""

    kind: CauseKind
    message: str
    name: str | None = None  # the queue, key, task, destination, label or resource
    count: float | None = None  # how many run, or how much the job requires
    max: float | None = None  # the limit, or how much is available
    at: Instant | None = None  # when the cause ends, or is checked again
    executions: list[str] = []  # some of those that it waits for
    workers: list[str] = []


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why an execution does not run, and when it will."""

    status: ExecutionStatus
    summary: str
    causes: list[Cause]
    expected_start: Instant | None
    expected_start_reason: str | None  # why the start cannot be predicted
    give_up_at: Instant | None = None  # it is skipped if it has not started by then
    deadline: Instant | None = None  # by when it should have ended


class OtherExecution(NamedTuple):
    id: str
    status: str


class FailingDestination(NamedTuple):
    """A destination whose open circuit breaker holds an execution."""

    destination: str
    reason: str | None
    last_error: str | None
    probe_at: datetime | None


class LimitInForce(NamedTuple):
    """A limit that applies to an execution, by its queue or by a key, and how much of it is in use."""

    kind: Literal["queue", "key"]
    name: str
    max_running: int | None
    rate: Rate | None
    running: int
    holders: Sequence[str]  # some of the executions that count towards it
    used_until: datetime  # the rate allows no start before this
    max_workers: int | None = None
    workers: Sequence[str] = ()  # that have executions of it, if their number is limited


class LiveWorker(NamedTuple):
    id: str
    name: str
    offers_task: bool  # or allows the program of the command
    queues: Sequence[str]  # empty: all queues
    labels: Mapping[str, str]
    resources: Mapping[str, float]
    used: Mapping[str, float]  # of its resources
    slots: int
    holding: int
    draining: bool
    commands: Sequence[str] = ()  # the patterns of the programs that it allows


class DisabledTask(NamedTuple):
    """Who disabled a task, and why."""

    at: datetime
    by: str | None
    reason: str | None


class NamedWorker(NamedTuple):
    """The only worker that may run an execution."""

    name: str
    seen_at: datetime | None  # its last heartbeat, if it is known


class TargetWait(NamedTuple):
    """How long the HTTP target that has accepted an execution may take to report."""

    timeout_at: datetime
    heartbeat: timedelta | None  # it must report at least this often
    deadline: datetime  # for its next report


class WaitingFacts(NamedTuple):
    """An execution, and everything that can keep it from starting, at one moment."""

    now: datetime
    status: ExecutionStatus
    due_at: datetime  # of the execution, or of its next attempt
    attempt: int
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    worker: str | None  # the name of the worker that has it
    task: str
    queue: str
    placement: Placement
    job: str
    job_paused: bool
    queue_paused: bool
    is_suspended: bool  # waits for its job, a breaker, the execution before it or its parents
    parents: Sequence[OtherExecution] = ()  # that have not ended as the dependency requires
    roots: Sequence[OtherExecution] = ()  # direct and indirect parents that ended badly
    blocker: OtherExecution | None = None
    breaker: FailingDestination | None = None
    limits: Sequence[LimitInForce] = ()
    workers: Sequence[LiveWorker] = ()
    ahead: int = 0  # executions before it in the backlog
    give_up_at: datetime | None = None  # it is skipped if it has not started by then
    deadline: datetime | None = None
    target: TargetWait | None = None  # the HTTP target that has it
    task_is_known: bool = True  # a worker has offered it, or it was declared
    disabled: DisabledTask | None = None  # its task
    mismatch: str | None = None  # why its payload does not fit its task
    named_worker: NamedWorker | None = None
    cluster_paused: bool = False

    @property
    def ahead_in_words(self) -> str:
        """How many executions are ahead of it, in words; empty when none is."""
        if not self.ahead:
            return ""
        count = f"{self.ahead:,}" if self.ahead <= AHEAD_LIMIT else f"more than {AHEAD_LIMIT:,}"
        return f"{count} {'is' if self.ahead == 1 else 'are'} ahead of it in the backlog"
