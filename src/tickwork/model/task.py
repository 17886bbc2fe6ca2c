"""A task: code that can run, known by its name, and the defaults that its decorator gives to its jobs."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.command import COMMAND_TASK
from tickwork.model.errors import FieldError
from tickwork.model.field_types import Duration, Instant, QueueName
from tickwork.model.job import HTTP_TASK, JobRequest, Priority, RetryRequest, timeout_errors
from tickwork.model.process_limits import NO_LIMITS, ProcessLimits
from tickwork.model.quantities import parse_duration

BUILT_IN_TASKS = {  # names that are taken, and what to use instead
    HTTP_TASK: "use the field http for HTTP calls",
    NOTIFY_TASK: "use channels to be notified",
    COMMAND_TASK: "use the field command for commands",
}


class Runner(StrEnum):
    """Where a task's code runs."""

    COROUTINE = "coroutine"  # on the worker's loop
    THREAD = "thread"
    PROCESS = "process"
    DIRECT = "direct"  # on the loop; gets the Run itself and returns JSON: `async (Run) -> bytes | None`


class TaskDefinition(NamedTuple):
    name: str
    function: Callable[..., Any]
    runner: Runner
    decode: Callable[[bytes], dict[str, Any]]  # payload -> arguments; ValueError says what is wrong
    parameters: dict[str, Any]  # JSON Schema of the payload
    context_parameter: str | None = None
    description: str | None = None
    defaults: dict[str, Any] = {}  # noqa: RUF012 (never changed); for its jobs: priority, queue, timeout, retry
    process_limits: ProcessLimits = NO_LIMITS  # of a task that runs in a process


def direct_task(name: str, function: Callable[..., Any], description: str | None = None) -> TaskDefinition:
    """A task that gets the Run instead of arguments, such as the built-in one for HTTP jobs."""
    return TaskDefinition(
        name, function, Runner.DIRECT, decode=_no_arguments, parameters={}, description=description
    )


def _no_arguments(_payload: bytes) -> dict[str, Any]:
    return {}


# active: it runs; disabled: its executions wait; retired: it gets no new jobs.
TaskState = Literal["active", "disabled", "retired"]
TaskName = Annotated[
    str,
    Meta(
        pattern=r"^[^\x00-\x1f\x7f]{1,200}$", description="text of 1 to 200 characters, no control characters"
    ),
]


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """A task as shown to users."""

    name: str
    parameters: dict[str, Any]  # JSON Schema of the payload
    description: str | None
    workers: list[str]
    defaults: dict[str, Any] = {}  # for its jobs: priority, queue, timeout, retry
    state: TaskState = "active"
    offered_at: Instant | None = None  # when a worker last described it anew; None: it is only declared
    disabled_at: Instant | None = None
    disabled_by: str | None = None  # the name of an API key
    disabled_reason: str | None = None
    retired_at: Instant | None = None
    retired_by: str | None = None
    replacement: str | None = None  # the task to use instead of a retired one


class TaskDefaults(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Fields that a job of the task has when it is created without them."""

    priority: Priority | UnsetType = UNSET
    queue: QueueName | UnsetType = UNSET
    timeout: Duration | UnsetType = UNSET
    retry: RetryRequest = RetryRequest()


NO_DEFAULTS = TaskDefaults()


class TaskDeclaration(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A task that is described before a worker offers it: the body of PUT /tasks/{name}."""

    parameters: dict[str, Any] = {}  # JSON Schema of the payload; an empty one allows anything
    description: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None
    defaults: TaskDefaults = NO_DEFAULTS  # for what its jobs leave out


class DisableRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Why a task is disabled: the body of POST /tasks/{name}/disable."""

    reason: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None


class RetireRequest(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is to be used instead of a task, and what becomes of its jobs: the body of POST /tasks/{name}/retire."""

    replacement: TaskName | None = None
    jobs: Annotated[
        Literal["keep", "cancel"],
        Meta(description="keep: the jobs of the task go on; cancel: they have no further executions"),
    ] = "keep"
    undo: Annotated[bool, Meta(description="take the task back: it gets new jobs again")] = False


def defaults_of(request: JobRequest) -> TaskDefaults:
    """The defaults that the options of a task give."""
    return TaskDefaults(
        priority=request.priority, queue=request.queue, timeout=request.timeout, retry=request.retry
    )


def with_task_defaults(request: JobRequest, defaults: TaskDefaults) -> JobRequest:
    """The job with the task's defaults for the fields that it leaves out, also within its retry policy."""
    if defaults is NO_DEFAULTS:
        return request
    given = request.given("priority", "queue", "timeout")
    return msgspec.structs.replace(
        request,
        **{name: getattr(defaults, name) for name in ("priority", "queue", "timeout") if name not in given},
        retry=request.retry.with_defaults(defaults.retry),
    )


def default_errors(defaults: TaskDefaults) -> Iterator[FieldError]:
    """Errors in the defaults: each would make every job invalid."""
    if defaults.timeout is not UNSET:
        yield from timeout_errors(defaults.timeout)
    for name, value in defaults.retry.given("initial", "max").items():
        try:
            parse_duration(value)
        except ValueError as error:
            yield FieldError(f"retry.{name}", str(error))


def valid_defaults(sent: dict[str, Any]) -> TaskDefaults:
    """The valid ones among the defaults that a worker sent. Workers are not trusted."""
    usable = NO_DEFAULTS
    for name in TaskDefaults.__struct_fields__:
        try:
            one = msgspec.convert({name: sent[name]} if name in sent else {}, TaskDefaults)
        except msgspec.ValidationError:
            continue
        if not any(default_errors(one)):
            usable = msgspec.structs.replace(usable, **{name: getattr(one, name)})
    return usable


@lru_cache(maxsize=4096)
def defaults_from_text(text: str) -> TaskDefaults:
    return valid_defaults(msgspec.json.decode(text)) if text != "{}" else NO_DEFAULTS
