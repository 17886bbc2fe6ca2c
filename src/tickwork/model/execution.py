"""An execution: one occurrence of a job, and its attempts."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import msgspec

from tickwork.model.field_types import Instant, Page
from tickwork.model.process_limits import UsageView

RESULT_LIMIT = 256 * 1024  # bytes of JSON


ExecutionStatusName = Literal["pending", "running", "completed", "failed", "cancelled", "skipped"]


class ExecutionStatus(StrEnum):
    """The status of an execution."""

    PENDING = "pending"  # -> running, cancelled, skipped
    RUNNING = "running"  # -> completed, failed, cancelled; back to pending for another attempt
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"

    @property
    def ended(self) -> bool:
        """Whether it no longer changes, unless somebody retries or redrives it."""
        return self not in (ExecutionStatus.PENDING, ExecutionStatus.RUNNING)


class Trigger(StrEnum):
    SCHEDULE = "schedule"
    MANUAL = "manual"
    BACKFILL = "backfill"
    RETRY = "retry"


class AttemptOutcome(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"  # the code raised, timed out, or the target answered badly
    LOST = "lost"  # the worker died or lost its lease
    SNOOZED = "snoozed"  # the code asked to be run later; uses no attempt
    RETURNED = "returned"  # the worker gave it back before it started; uses no attempt
    CANCELLED = "cancelled"
    HELD = "held"  # the circuit breaker of its destination is open; uses no attempt
    ACCEPTED = (
        "accepted"  # only between worker and server: its HTTP target has it now, and reports how it ends
    )


class ExecutionKey(NamedTuple):
    """The identity of an execution. A job belongs to one tenant, so (job, scheduled_for) alone is unique;
    the tenant comes first because every query is about one."""

    tenant_id: int
    scheduled_for: datetime
    job_id: int


WaitingForName = Literal["due", "worker", "limit", "dependency", "retry", "paused", "callback"]


class WaitingFor(StrEnum):
    DUE = "due"
    WORKER = "worker"
    LIMIT = "limit"
    DEPENDENCY = "dependency"
    RETRY = "retry"
    PAUSED = "paused"
    CALLBACK = "callback"  # it runs, and its HTTP target reports later how it ends


class AttemptError(msgspec.Struct, frozen=True):
    """Why an attempt failed, as text: never a pickled exception."""

    type: str
    message: str
    traceback: str | None = None


class Progress(msgspec.Struct, frozen=True):
    fraction: float
    message: str | None = None


class Blocking(msgspec.Struct, frozen=True):
    """An execution that failed or was cancelled: those that depend on it wait until it is retried."""

    execution_id: str
    job_id: str
    status: ExecutionStatus


class ExecutionView(msgspec.Struct, frozen=True, kw_only=True):
    """An execution as shown to users."""

    id: str
    job_id: str
    job_name: str | None = None  # or its key, if it has no name
    task: str
    status: ExecutionStatus
    waiting_for: WaitingFor | None
    trigger: Trigger
    scheduled_for: Instant
    due_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    attempt: int
    max_attempts: int
    worker: str | None
    progress: Progress | None
    result: Any  # JSON; a server writes it as msgspec.Raw, unread
    error: AttemptError | None
    reason: str | None
    blocked_by: Blocking | None = None  # the first ancestor that failed or was cancelled; not in lists


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt as shown to users."""

    attempt: int
    outcome: AttemptOutcome | None  # None while it runs
    worker: str | None
    started_at: Instant | None
    finished_at: Instant | None
    error: AttemptError | None
    worker_name: str | None = None
    silent_for: float | None = None  # seconds since its last heartbeat, when the worker was found lost
    log_tail: str | None = None  # the last lines of its log, unless it completed
    usage: UsageView | None = None  # of an attempt in a process of its own


class MissedView(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from", "end": "to"}):
    """Due times that passed while no server could fire them, and that the job's catch-up policy passed over."""

    begin: Instant  # the first of them
    end: Instant  # the last
    count: int
    reason: str


CountKind = Literal["exact", "estimate"]


NOT_TAKEN = "not taken"  # so begins the reason of an execution whose branch of a graph was not taken


class ExecutionFilter(NamedTuple):
    """What the executions of a list have in common."""

    status: ExecutionStatus | None = None
    job: int | None = None
    task: str | None = None
    queue: str | None = None
    worker: int | None = None
    since: datetime | None = None  # due from here
    until: datetime | None = None  # to here
    waiting_for: WaitingFor | None = None
    error: str | None = None  # the type of an error that one of its attempts failed with
    timed_out: bool = False  # one of its attempts did
    retrying: bool = False  # an attempt failed or was lost, and it has not ended
    blocked: bool = False  # it waits for an execution that failed or was cancelled
    not_taken: bool = False  # it was skipped because its branch was not taken
    tag: str | None = None  # of its job
    longer_than: timedelta | None = None  # it ran, or has been running, for longer
    later_than: timedelta | None = (
        None  # it started later after its due time, or is later and has not started
    )


class ExecutionCount(msgspec.Struct, frozen=True):
    """How many executions match."""

    value: int
    kind: Literal["exact", "estimate", "at least"]


class ExecutionPage(Page[ExecutionView], frozen=True):
    """One page of executions. A page that is neither full nor the last one says how far it has looked."""

    searched_until: Instant | None = None  # all that are due later were looked at; the next page goes on here
    count: ExecutionCount | None = None
    archived_until: Instant | None = None  # older ones, which the filter reaches, are in the archive only
