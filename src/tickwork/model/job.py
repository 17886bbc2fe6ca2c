"""A job: what to run, with which payload, when, and under which policies. Graphs of jobs that depend on each other."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tickwork.model.catch_up_policy import CatchUp, CatchUpView
from tickwork.model.command import CommandFields, ExitCodes
from tickwork.model.condition import Condition
from tickwork.model.errors import FieldError
from tickwork.model.execution import ExecutionView
from tickwork.model.field_types import Duration, Instant, Name, QueueName
from tickwork.model.for_each import ForEach
from tickwork.model.http_secrets import redacted
from tickwork.model.http_target import HttpTarget, HttpTargetView, target_view
from tickwork.model.job_health import UNKNOWN_STATE, Health, JobState, LastRun, RunSummary
from tickwork.model.json_limits import raw_json
from tickwork.model.mask_command_env import redacted_env
from tickwork.model.notification_rule import Notify
from tickwork.model.overlap import Overlap
from tickwork.model.parsed_schedule_and_preview import Schedule
from tickwork.model.partial_struct import Partial
from tickwork.model.process_limits import ProcessBounds, bounds_of
from tickwork.model.public_ids import execution_id, job_id
from tickwork.model.quantities import parse_duration
from tickwork.model.requires_limits_fair_share import FairShare, Limits, Requires
from tickwork.model.retention import Retention, RetentionView
from tickwork.model.retry_policy import Backoff, RetryPolicy

HTTP_TASK = "http"  # the task that the built-in worker offers to every tenant
DEFAULT_QUEUE = "default"
DEFAULT_TIMEOUT = timedelta(minutes=5)
SHORTEST_TIMEOUT = timedelta(milliseconds=1)
LONGEST_TIMEOUT = timedelta(days=7)

ErrorNames = Annotated[list[Name], Meta(max_length=50)]
Priority = Literal["critical", "high", "normal", "low"]
PRIORITIES: tuple[Priority, ...] = ("critical", "high", "normal", "low")  # stored as the position in here
IfExists = Literal["error", "keep", "replace"]
UnknownTask = Literal["error", "wait"]
OnWorkerLost = Literal["retry", "fail"]
JobStatusName = Literal["active", "paused", "completed", "failed", "cancelled", "skipped"]
NeededOutcome = Literal["success", "failure", "any outcome"]


class JobStatus(StrEnum):
    """The status of a job."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"  # due one time, and did not run


def _default(value: Any) -> Meta:
    """The default for a field that neither the job nor its task gives, for the JSON Schema."""
    return Meta(extra_json_schema={"default": value})


class RetryRequest(Partial, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    max_attempts: Annotated[int, Meta(ge=1, le=100), _default(4)] | UnsetType = UNSET
    backoff: Annotated[Backoff, _default("exponential")] | UnsetType = UNSET
    initial: Annotated[Duration, _default("1s")] | UnsetType = UNSET
    factor: Annotated[float, Meta(ge=1, le=100), _default(2.0)] | UnsetType = UNSET
    max: Annotated[Duration, _default("1h")] | UnsetType = UNSET
    jitter: Annotated[float, Meta(ge=0, le=1), _default(0.2)] | UnsetType = UNSET
    only_on: ErrorNames | UnsetType = UNSET
    never_on: ErrorNames | UnsetType = UNSET

    def with_defaults(self, defaults: "RetryRequest") -> "RetryRequest":
        return RetryRequest(**(defaults.given() | self.given()))

    def policy(self) -> RetryPolicy:
        seconds = {
            name: parse_duration(value).total_seconds()
            for name, value in self.given("initial", "max").items()
        }
        return RetryPolicy(**(self.given() | seconds))


class Dependency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job that another one runs after."""

    job: str
    on: NeededOutcome = "success"
    when: Annotated[Condition, Meta(description="must be true for the result of that job")] | UnsetType = (
        UNSET
    )
    for_each: (
        Annotated[ForEach, Meta(description="run once for each element of a list in the result of that job")]
        | UnsetType
    ) = UNSET


DependsOn = Annotated[list[str | Dependency], Meta(max_length=10_000)]
Ref = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="a name for this job within its batch: others of the batch depend on it as @name",
    ),
]


class JobRequest(
    CommandFields, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A job as users write it: the body of POST /jobs."""

    name: Name | None = None
    key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    if_exists: IfExists = "error"
    task: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    unknown_task: Annotated[
        UnknownTask,
        Meta(description="whether a task that nobody has offered or declared is an error, or waited for"),
    ] = "error"
    http: HttpTarget | None = None
    payload: Any | UnsetType = UNSET
    schedule: str | dict[str, Any] | None = None
    timezone: Annotated[str, Meta(max_length=64)] | None = None
    priority: Annotated[Priority, _default("normal")] | UnsetType = UNSET
    queue: Annotated[QueueName, _default(DEFAULT_QUEUE)] | UnsetType = UNSET
    retry: RetryRequest = RetryRequest()
    timeout: Annotated[Duration, _default("5m")] | UnsetType = UNSET
    warn_after: (
        Annotated[Duration, Meta(description="an attempt that runs for longer is told of while it does")]
        | None
    ) = None
    start_within: (
        Annotated[Duration, Meta(description="what has not started so long after its due time is skipped")]
        | None
    ) = None
    deadline: (
        Annotated[
            Duration, Meta(description="by when it should have ended: a time of day, or after the due time")
        ]
        | None
    ) = None
    on_worker_lost: OnWorkerLost = "retry"
    overlap: Overlap = "skip"
    catch_up: CatchUp = CatchUp()
    requires: Requires = Requires()
    limits: Limits = []
    fair_share: FairShare | None = None
    depends_on: DependsOn = []
    ref: Ref | None = None
    tags: Annotated[list[Annotated[str, Meta(min_length=1, max_length=100)]], Meta(max_length=50)] = []
    description: Annotated[str, Meta(min_length=1, max_length=2000)] | None = None
    owner: Annotated[Name, Meta(description="who looks after the job: a team or a person")] | None = None
    heartbeat_url: (
        Annotated[str, Meta(min_length=1, max_length=2048, description="called by GET after each success")]
        | None
    ) = None
    notify: Annotated[Notify, Meta(description="who is told of what")] = []
    retention: Retention | None = None


BUILT_IN = {"priority": "normal", "queue": DEFAULT_QUEUE, "timeout": "5m"}


class RunSettings(NamedTuple):
    """Priority, queue and timeout of a job, with the defaults for what it leaves out."""

    priority: Priority
    queue: str
    timeout: Duration


def run_settings(request: JobRequest) -> RunSettings:
    return RunSettings(**(BUILT_IN | request.given(*BUILT_IN)))


def timeout_errors(timeout: Duration) -> Iterator[FieldError]:
    try:
        duration = parse_duration(timeout)
    except ValueError as error:
        yield FieldError("timeout", str(error))
        return
    if not SHORTEST_TIMEOUT <= duration <= LONGEST_TIMEOUT:
        least, most = SHORTEST_TIMEOUT.total_seconds(), LONGEST_TIMEOUT.days
        yield FieldError("timeout", f"is between {least:g} s and {most} days")


def seconds_of(duration: Duration | None) -> float | None:
    return None if duration is None else parse_duration(duration).total_seconds()


def deadline_view(deadline: Duration | None) -> str | float | None:
    return deadline if isinstance(deadline, str) and ":" in deadline else seconds_of(deadline)


def with_resolved_dependencies(request: JobRequest, parents: Sequence[int]) -> JobRequest:
    """The request as it is stored: with parents by id, and without `ref`, which has a meaning only in its batch."""
    entries = [
        msgspec.structs.replace(entry, job=job_id(parent))
        if isinstance(entry, Dependency)
        else job_id(parent)
        for entry, parent in zip(request.depends_on, parents, strict=True)
    ]
    return msgspec.structs.replace(request, depends_on=entries, ref=None)


def for_each_of(request: JobRequest) -> tuple[str, ForEach] | None:
    """The parent that returns a list for whose elements the job runs, and where the list is."""
    for entry in request.depends_on:
        if isinstance(entry, Dependency) and entry.for_each is not UNSET:
            return entry.job, entry.for_each
    return None


def may_keep_stored_secrets(request: JobRequest) -> bool:
    """Whether the request may update an existing job, whose secrets it can keep: see `http_secrets`."""
    return request.key is not None and request.if_exists != "error"


class RunRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to run a job now: the body of POST /jobs/{id}/run."""

    overlap: Overlap = "allow"
    worker: Annotated[Name, Meta(description="the name of the only worker that may run it")] | None = None


class Parent(NamedTuple):
    """A job that another job depends on."""

    job: int | None  # None: a job of the same request
    place: int | None  # its index in the request
    needs: NeededOutcome = "success"
    condition: str | None = None  # on its result, as a JSON path


RunningChoice = Literal["leave", "cancel"]  # what becomes of what runs when a job is cancelled


class JobSpec(msgspec.Struct, frozen=True):
    """A valid job, ready to be stored."""

    request: JobRequest
    task: str
    queue: str
    placement: str  # of its lane
    priority: int
    payload: bytes
    target: bytes | None  # the HTTP call or the command as JSON
    timeout: float
    catch_up: CatchUp
    schedule: Schedule
    definition: bytes  # JSON: the request without the payload and what it depends on
    parents: Sequence[Parent] = ()
    trace_origin: str | None = None  # the text of a TraceOrigin
    warn_after: float | None = None
    awaits_task: bool = False  # nobody has described its task yet, so its payload is unchecked


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as shown to users."""

    id: str
    name: str | None
    key: str | None
    status: JobStatus
    task: str | None
    unknown_task: UnknownTask = "error"
    http: HttpTargetView | None
    command: list[str] | None = None
    env: dict[str, str] = {}
    cwd: str | None = None
    stdin: str | None = None
    exit_codes: ExitCodes | None = None  # of a command
    process_limits: ProcessBounds | None = None  # of a command, in bytes and seconds
    payload: Any  # JSON; a server writes it as msgspec.Raw, unread
    schedule: dict[str, Any]  # the canonical form; as `schedule` of a request it means the same times
    schedule_words: str
    next_run_at: Instant | None
    execution_id: str | None = None  # of a one-time job
    execution: ExecutionView | None = None  # the same, if the request waited for its end
    priority: Priority
    queue: str
    retry: RetryPolicy
    timeout: float
    warn_after: float | None = None
    start_within: float | None = None
    deadline: str | float | None = None  # a time of day in the job's time zone, or seconds after the due time
    on_worker_lost: OnWorkerLost
    overlap: Overlap
    catch_up: CatchUpView
    requires: Requires = Requires()
    limits: Limits = []
    fair_share: FairShare | None = None
    depends_on: DependsOn = []
    tags: list[str]
    description: str | None = None
    owner: str | None = None
    heartbeat_url: str | None = None
    notify: Notify = []
    retention: RetentionView | None = None  # its own; null: as its queue, its tenant or the installation says
    last_run: LastRun | None = None
    running: int = 0
    failures_in_a_row: int = 0
    failing_since: Instant | None = None
    health: Health = "unknown"
    recent_runs: list[RunSummary] | None = None  # the latest first, if a list was asked for them
    version: int
    created_at: Instant
    updated_at: Instant


def job_view(
    request: JobRequest,
    payload: bytes,
    *,
    number: int,
    status: JobStatus,
    schedule: dict[str, Any],
    words: str,
    next_run_at: datetime | None,
    once_at: datetime | None,
    version: int,
    created_at: datetime,
    updated_at: datetime,
    state: JobState = UNKNOWN_STATE,
) -> JobView:
    """Builds the view from a job's definition and its row. `once_at` is the due time of a one-time job."""
    run = run_settings(request)
    return JobView(
        id=job_id(number),
        name=request.name,
        key=request.key,
        status=status,
        task=request.task,
        unknown_task=request.unknown_task,
        http=target_view(redacted(request.http)) if request.http else None,
        command=request.command,
        env=redacted_env(request.env),
        cwd=request.cwd,
        stdin=request.stdin,
        exit_codes=request.exit_codes if request.command else None,
        process_limits=bounds_of(request.process_limits) if request.command else None,
        payload=raw_json(payload),
        schedule=schedule,
        schedule_words=words,
        next_run_at=next_run_at,
        execution_id=execution_id(number, once_at) if once_at else None,
        priority=run.priority,
        queue=run.queue,
        retry=request.retry.policy(),
        timeout=parse_duration(run.timeout).total_seconds(),
        warn_after=seconds_of(request.warn_after),
        start_within=seconds_of(request.start_within),
        deadline=deadline_view(request.deadline),
        on_worker_lost=request.on_worker_lost,
        overlap=request.overlap,
        catch_up=request.catch_up.in_seconds(),
        requires=request.requires,
        limits=request.limits,
        fair_share=request.fair_share,
        depends_on=request.depends_on,
        tags=request.tags,
        description=request.description,
        owner=request.owner,
        heartbeat_url=request.heartbeat_url,
        notify=request.notify,
        retention=request.retention.view() if request.retention else None,
        version=version,
        created_at=created_at,
        updated_at=updated_at,
        last_run=state.last_run,
        running=state.running,
        failures_in_a_row=state.failures_in_a_row,
        failing_since=state.failing_since,
        health=state.health,
    )


class CreatedJob(msgspec.Struct, frozen=True):
    """A new job in the answer to a request with several jobs."""

    id: str
    key: str | None
    next_run_at: Instant | None
    execution_id: str | None = None  # of a one-time job
