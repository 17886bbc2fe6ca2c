"""Why an execution does not run, and what has to be known to say so."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from tickwork.model.execution import ExecutionStatus
from tickwork.model.instant import Instant
from tickwork.model.placement import Placement
from tickwork.model.quantities import Rate

AHEAD_LIMIT = 10_000  # a longer line is not counted to its end
MOST_NAMED = 5  # executions or workers of a cause

CauseKind = Literal[
    "ended",
    "running",
    "paused",  # its job
    "dependency",
    "overlap",
    "breaker",
    "queue_paused",
    "due",
    "retry",
    "no_task",
    "no_worker",
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
    name: str | None = None  # of the queue, key, task, destination, label or resource that it is about
    count: float | None = None  # how much there is of it, or is wanted
    max: float | None = None  # how much there may be at most, or is to be had
    at: Instant | None = None  # when it is over, or looked at again
    executions: list[str] = []  # that it waits for, a few of them
    workers: list[str] = []


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why an execution does not run, and when it will."""

    status: ExecutionStatus
    summary: str
    causes: list[Cause]
    expected_start: Instant | None
    expected_start_reason: str | None  # why that cannot be told


class OtherExecution(NamedTuple):
    id: str
    status: str


class FailingDestination(NamedTuple):
    """A destination whose circuit breaker holds an execution."""

    destination: str
    reason: str | None
    last_error: str | None
    probe_at: datetime | None


class LimitInForce(NamedTuple):
    """A queue or a key under which an execution is counted, and how much goes on under it."""

    kind: Literal["queue", "key"]
    name: str
    max_running: int | None
    rate: Rate | None
    running: int
    holders: Sequence[str]  # executions that count under it, a few of them
    used_until: datetime  # up to when the rate is used up


class LiveWorker(NamedTuple):
    id: str
    name: str
    offers_task: bool
    queues: Sequence[str]  # none named: all of them
    labels: Mapping[str, str]
    resources: Mapping[str, float]
    used: Mapping[str, float]  # of its resources
    slots: int
    holding: int
    draining: bool


class WaitingFacts(NamedTuple):
    """An execution and all that could hold it, as of now."""

    now: datetime
    status: ExecutionStatus
    due_at: datetime  # it, or its next attempt
    attempt: int
    started_at: datetime | None
    finished_at: datetime | None
    reason: str | None
    worker: str | None  # the name of who has it
    task: str
    queue: str
    placement: Placement
    job: str
    job_paused: bool
    queue_paused: bool
    is_suspended: bool  # by its job, a breaker, the execution before it or those it depends on
    parents: Sequence[OtherExecution] = ()  # that it depends on and that have not ended as they must
    roots: Sequence[OtherExecution] = ()  # of what it depends on, also through others, those that ended badly
    blocker: OtherExecution | None = None
    breaker: FailingDestination | None = None
    limits: Sequence[LimitInForce] = ()
    workers: Sequence[LiveWorker] = ()
    ahead: int = 0  # in its line

    @property
    def ahead_in_words(self) -> str:
        """How many are ahead of it, in words; nothing when none is."""
        if not self.ahead:
            return ""
        count = f"{self.ahead:,}" if self.ahead <= AHEAD_LIMIT else f"more than {AHEAD_LIMIT:,}"
        return f"{count} {'is' if self.ahead == 1 else 'are'} ahead of it in the backlog"
