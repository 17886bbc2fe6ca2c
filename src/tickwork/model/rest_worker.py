"""The requests of a REST worker, and the answers.

    register ──▶ claim ──▶ start ──▶ recall, checkpoint, progress … ──▶ complete or fail
                   ▲                                                         │
                   └─────────────────────────────────────────────────────────┘
    heartbeat, all the time: renews the lease, and lists the attempts to stop

A worker may repeat any of these requests when the answer was lost. That changes nothing and gets the same answer.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tickwork.model.checkpoint import LARGEST_NUMBER, LONGEST_TOOK, StepName, state_error, step_error
from tickwork.model.errors import FieldError
from tickwork.model.execution import AttemptOutcome, ExecutionStatus
from tickwork.model.field_types import Duration, Instant, Name, QueueName
from tickwork.model.quantities import parse_size
from tickwork.model.requires_limits_fair_share import Key, Labels, Size
from tickwork.model.task import NO_DEFAULTS, TaskDefaults, TaskName, default_errors
from tickwork.model.worker import WorkerLoad

MOST_RESOURCE = 1e15
LEAST_WEIGHT, MOST_WEIGHT = 0.01, 1000.0
LONGEST_WAIT = 30.0  # seconds that a claim may wait
MOST_CLAIMED = 100
_LARGEST = 2**31 - 1

AttemptNumber = Annotated[int, Meta(ge=1, le=_LARGEST)]
Weight = Annotated[float, Meta(ge=LEAST_WEIGHT, le=MOST_WEIGHT)]
Weights = Annotated[dict[QueueName, Weight], Meta(max_length=100)]
Resources = Annotated[dict[Key, Size], Meta(max_length=20)]


class TaskRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task that a worker offers."""

    name: TaskName
    parameters: dict[str, Any] = {}  # JSON Schema of the payload; an empty one allows anything
    description: Annotated[str, Meta(max_length=10_000)] | None = None
    defaults: TaskDefaults = NO_DEFAULTS  # for what its jobs leave out


OfferedTask = TaskName | TaskRequest


class WorkerRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A worker that registers: the body of POST /workers."""

    name: Name
    tasks: Annotated[list[OfferedTask], Meta(min_length=1, max_length=1000)]
    queues: Annotated[list[QueueName], Meta(max_length=100)] = []  # empty: all queues
    weights: Weights = {}  # of queues: the share of its slots that each gets; 1 by default
    slots: Annotated[int, Meta(ge=1, le=10_000)] = 1
    labels: Labels = {}
    resources: Resources = {}  # "cpu": 4, "memory": "8Gi", "license": 2


class RegisteredWorker(msgspec.Struct, frozen=True):
    """A new worker. It must send a heartbeat before its lease expires."""

    id: str
    lease_seconds: float
    heartbeat_seconds: float  # how often to send a heartbeat


class LoadReport(WorkerLoad, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker measured of its machine and of its own process."""


class HeartbeatReport(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What a worker says of itself with a heartbeat. What is left out stays as it was."""

    load: LoadReport | None = None
    labels: Labels | None = None  # instead of all that it had
    resources: Resources | None = None  # likewise


class StopRequest(msgspec.Struct, frozen=True):
    """An attempt that the worker must stop. It is repeated until the worker has reported how the attempt ended."""

    id: str
    attempt: int
    reason: str


class Heartbeat(msgspec.Struct, frozen=True):
    """The answer to a heartbeat: the lease is renewed."""

    lease_seconds: float
    drain: bool  # take nothing new, and leave when done
    stop: list[StopRequest]


class ClaimRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many executions a worker can take now, and how long it waits for them."""

    max: Annotated[int, Meta(ge=1, le=MOST_CLAIMED)] = 1
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT)] = 0.0  # seconds


class ParentResult(msgspec.Struct, frozen=True):
    """How a job ended that an execution depends on."""

    job_id: str
    name: str | None
    key: str | None
    task: str
    status: ExecutionStatus | None  # None: it is no longer known
    result: Any  # JSON


class ClaimedExecution(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that a worker has, with everything that it needs to run it."""

    id: str
    attempt: int
    task: str
    payload: Any  # JSON; a server writes it as msgspec.Raw, unread
    timeout: float  # seconds
    scheduled_for: Instant
    deadline: Instant  # when it times out if it starts now
    parents: list[ParentResult] | None  # None: too large to send; get the results one by one
    traceparent: str | None = None  # the parent for spans of its code, if the execution is traced


class ClaimedWork(msgspec.Struct, frozen=True):
    """The attempts that a worker has and has not started."""

    items: list[ClaimedExecution]
    drain: bool  # take nothing new, and leave when done


class StartReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attempt: AttemptNumber


class LogText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(max_length=16 * 1024)]
    level: Annotated[str, Meta(min_length=1, max_length=20)] = "info"


LogLine = Annotated[str, Meta(max_length=16 * 1024)] | LogText


class ProgressReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far an attempt has come, what it logged since, or both."""

    attempt: AttemptNumber
    fraction: Annotated[float, Meta(ge=0, le=1)] | None = None
    message: Annotated[str, Meta(max_length=1000)] | None = None
    log: Annotated[list[LogLine], Meta(max_length=1000)] = []
    first_line: Annotated[int, Meta(ge=0, le=_LARGEST // 2)] = (
        0  # the number of the first of these lines within the attempt
    )


class RecallRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The attempt that wants to know what the attempts before it have stored."""

    attempt: AttemptNumber


class StepReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step that is done."""

    name: StepName
    result: Any = None
    took: Annotated[float, Meta(ge=0, le=LONGEST_TOOK)] | None = None  # seconds


StepReports = Annotated[list[StepReport], Meta(max_length=100)]
StateNumber = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]


class CheckpointReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Steps that are done, a new state, or both, for the attempts after this one."""

    attempt: AttemptNumber
    steps: StepReports = []
    state: Any | UnsetType = UNSET  # JSON
    number: StateNumber | None = None  # which state of the attempt this is, from 1; needed with a state

    def errors(self) -> Iterator[FieldError]:
        """What a type cannot say."""
        if not self.steps and self.state is UNSET:
            yield FieldError("steps", "are missing, and so is a state", "give steps, a state, or both")
        if self.state is not UNSET:
            if self.number is None:
                hint = "count the states of the attempt from 1, so that a late one never replaces a newer one"
                yield FieldError("number", "is missing", hint)
            if error := state_error(msgspec.json.encode(self.state)):
                yield FieldError("state", error)
        names = [step.name for step in self.steps]
        for place, step in enumerate(self.steps):
            if step.name in names[:place]:
                hint = "give each step a name of its own"
                yield FieldError(f"steps[{place}].name", f"{step.name!r} is given twice", hint)
            if error := step_error(step.name, msgspec.json.encode(step.result)):
                yield FieldError(f"steps[{place}].result", error)


class CompleteReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attempt: AttemptNumber
    result: Any = None


class ErrorReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why an attempt failed. What is too long is cut."""

    type: Annotated[str, Meta(min_length=1)]
    message: str
    traceback: str | None = None


class FailReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    attempt: AttemptNumber
    error: ErrorReport
    retry: bool = True  # false: trying again is useless
    retry_after: Duration = 0.0  # not sooner than this


class ReportedAttempt(msgspec.Struct, frozen=True):
    """An attempt as its worker reported it."""

    id: str
    attempt: int
    outcome: AttemptOutcome | None  # None while it runs


def resource_amounts(resources: Mapping[str, str | float]) -> dict[str, float]:
    """Resources as numbers; ValueError names the one that is not a valid amount."""
    return {name: _amount(name, given) for name, given in resources.items()}


def worker_errors(worker: WorkerRequest) -> Iterator[FieldError]:
    names = [task if isinstance(task, str) else task.name for task in worker.tasks]
    for place, name in enumerate(names):
        if name in names[:place]:
            yield FieldError(f"tasks[{place}]", f"{name!r} is listed twice", "name each task once")
        task = worker.tasks[place]
        for error in default_errors(NO_DEFAULTS if isinstance(task, str) else task.defaults):
            yield error._replace(path=f"tasks[{place}].defaults.{error.path}")
    yield from resource_errors(worker.resources)
    for queue in worker.weights:
        if worker.queues and queue not in worker.queues:
            yield FieldError(
                f"weights.{queue}", "is not among queues", "add it to queues, or leave its weight out"
            )


def resource_errors(resources: Mapping[str, str | float]) -> Iterator[FieldError]:
    for name, given in resources.items():
        try:
            _amount(name, given)
        except ValueError as error:
            yield FieldError(f"resources.{name}", str(error))


def _amount(name: str, given: str | float) -> float:
    amount = parse_size(given)
    if not 0 <= amount <= MOST_RESOURCE:
        raise ValueError(f"{name} is from 0 to {MOST_RESOURCE:g}; got {given}")
    return amount
