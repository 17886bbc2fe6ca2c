"""A function that can be submitted as a job."""

from collections.abc import Callable, Coroutine, Iterable
from copy import copy
from datetime import datetime
from functools import cached_property, update_wrapper
from inspect import BoundArguments, Parameter, getdoc, iscoroutinefunction
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

import msgspec

from tickwork.model import python_values_to_json as codec
from tickwork.model.condition import Path
from tickwork.model.errors import Invalid
from tickwork.model.explain_type_errors import error_with_path
from tickwork.model.for_each import ForEach
from tickwork.model.job import IfExists, JobRequest, JobView
from tickwork.model.process_limits import NO_LIMITS, ProcessLimits
from tickwork.model.task import Runner, TaskDefinition, defaults_of
from tickwork.model.task_context import Context
from tickwork.outbox.submit_in_transaction import write, write_async
from tickwork.sdk.lazy_client import LazyClients
from tickwork.sdk.submitted_job_handle import Handle
from tickwork.sdk.task_options import TaskOptions, check_option_names, with_options
from tickwork.sdk.task_parameters import TaskSignature, read_signature
from tickwork.sdk.workflow import Step, Steps

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Awaited = TypeVar("Awaited")

Schedule = str | dict[str, Any]


class _TakesOne(Protocol[Item_contra, R_co]):
    """A task that can be called with exactly one argument."""

    def __call__(self, item: Item_contra, /) -> R_co: ...


class Task(Generic[P, R_co]):
    """A function that can also be submitted as a job. Calling it calls the plain function."""

    def __init__(
        self,
        function: Callable[..., R_co],
        request: JobRequest,
        clients: LazyClients,
        *,
        process: bool = False,
        process_limits: ProcessLimits = NO_LIMITS,
        declared: JobRequest | None = None,
    ) -> None:
        self.function = function
        self.request = request
        self.declared = declared
        self._clients = clients
        self._process = process
        self._process_limits = process_limits
        update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    @property
    def name(self) -> str:
        """The name by which workers offer the task and jobs refer to it."""
        return self.request.task or ""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the plain function. If it requires a context and the call gives none, it gets a new one."""
        signature = self._signature
        if not signature.needs_context or signature.context_parameter in kwargs or _has_context(args):
            return self.function(*args, **kwargs)
        arguments = _by_name(signature.arguments.bind(*args, **kwargs))
        return self.function(**{signature.context_parameter or "": Context()}, **arguments)

    def at(self, when: datetime) -> "Task[P, R_co]":
        """The same task, to be submitted for that time."""
        if when.tzinfo is None:
            raise Invalid.field("when", "has no time zone", "such as datetime.now(UTC) + timedelta(hours=1)")
        return self._changed({}, schedule={"at": when.isoformat()})

    def on(
        self, schedule: Schedule, *, timezone: str | None = None, key: str | None = None
    ) -> "Task[P, R_co]":
        """The same task, to be submitted with a schedule: cron, an interval, English, or an object."""
        return self._changed({}, schedule=schedule, timezone=timezone, key=key)

    def options(
        self,
        *,
        name: str | None = None,
        key: str | None = None,
        if_exists: IfExists | None = None,
        **options: Unpack[TaskOptions],
    ) -> "Task[P, R_co]":
        """The same task, to be submitted with other options."""
        check_option_names(options)
        return self._changed(options, name=name, key=key, if_exists=if_exists)

    @overload
    def submit(
        self: "Task[P, Coroutine[Any, Any, Awaited]]", *args: P.args, **kwargs: P.kwargs
    ) -> Handle[Awaited]: ...
    @overload
    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R_co]: ...
    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[Any]:
        """Create a job that calls this task with these arguments. The worker supplies the context."""
        request = self.request_for(*args, **kwargs)
        return self._handle(self._clients.client.create_job(request))

    @overload
    async def submit_async(
        self: "Task[P, Coroutine[Any, Any, Awaited]]", *args: P.args, **kwargs: P.kwargs
    ) -> Handle[Awaited]: ...
    @overload
    async def submit_async(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R_co]: ...
    async def submit_async(self, *args: P.args, **kwargs: P.kwargs) -> Handle[Any]:
        """As `submit`, in async code."""
        request = self.request_for(*args, **kwargs)
        return self._handle(await self._clients.async_client.create_job(request))

    @overload
    def step(
        self: "Task[P, Coroutine[Any, Any, Awaited]]", *args: P.args, **kwargs: P.kwargs
    ) -> Step[Awaited]: ...
    @overload
    def step(self, *args: P.args, **kwargs: P.kwargs) -> Step[R_co]: ...
    def step(self, *args: P.args, **kwargs: P.kwargs) -> Step[Any]:
        """A step of a workflow that calls this task with these arguments. Submit the workflow as a whole."""
        return Step(self.request_for(*args, **kwargs), self._signature.result, self._clients)

    @overload
    def map(
        self: "_TakesOne[Item, Coroutine[Any, Any, Awaited]]", items: Iterable[Item]
    ) -> Steps[Awaited]: ...
    @overload
    def map(self: "_TakesOne[Item, Awaited]", items: Iterable[Item]) -> Steps[Awaited]: ...
    def map(self: Any, items: Iterable[Any]) -> Steps[Any]:
        """One step per item. The item is the step's only argument."""
        step: Callable[..., Step[Any]] = self.step
        return Steps(step(item) for item in items)

    @overload
    def for_each(
        self: "Task[P, Coroutine[Any, Any, Awaited]]", parameter: str, path: Path = "", /, **others: Any
    ) -> Step[list[Awaited]]: ...
    @overload
    def for_each(self, parameter: str, path: Path = "", /, **others: Any) -> Step[list[R_co]]: ...
    def for_each(self, parameter: str, path: Path = "", /, **others: Any) -> Step[Any]:
        """A step that runs for each element of a list that the step before it returns, or that is at `path` in what it
        returns. The element is the argument for `parameter`. Its result is the list of their results."""
        self._signature.arguments.bind(**others, **{parameter: None})
        payload = {name: _as_json(name, value) for name, value in others.items()}
        request = msgspec.structs.replace(self.request, payload=payload)
        return Step(request, list[self._signature.result], self._clients, ForEach(path, parameter))  # type: ignore[name-defined]

    def submit_in(self, connection: Any, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """Submit it in the open transaction of this connection to your own PostgreSQL: the job is created if and only
        if that transaction commits. Returns the id of the job's row in the outbox."""
        return write(connection, self.request_for(*args, **kwargs))

    async def submit_in_async(self, connection: Any, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """As `submit_in`, for asyncpg, psycopg and SQLAlchemy in async code."""
        return await write_async(connection, self.request_for(*args, **kwargs))

    def request_for(self, *args: P.args, **kwargs: P.kwargs) -> JobRequest:
        """The job request that `submit` sends. Checks the arguments as the worker will: raises TypeError or Invalid
        if they do not fit the parameters."""
        arguments = _by_name(self._signature.arguments.bind(*args, **kwargs))
        payload = {name: _as_json(name, value) for name, value in arguments.items()}
        try:
            self._signature.decode(msgspec.json.encode(payload))
        except ValueError as error:
            raise Invalid(self._signature.errors_of(payload) or [error_with_path(error, "payload")]) from None
        return msgspec.structs.replace(self.request, payload=payload)

    @cached_property
    def definition(self) -> TaskDefinition:
        """What a worker needs to run the task."""
        return TaskDefinition(
            name=self.name,
            function=self.function,
            runner=self._runner,
            decode=self._signature.decode,
            parameters=self._signature.schema,
            context_parameter=self._signature.context_parameter,
            description=(getdoc(self.function) or "").partition("\n")[0] or None,
            defaults=msgspec.to_builtins(defaults_of(self.request)),
            process_limits=self._process_limits,
        )

    @property
    def _signature(self) -> TaskSignature:
        """Read on first use, because annotations may name what the module defines further down."""
        return read_signature(self.function)

    @property
    def _runner(self) -> Runner:
        if self._process:
            return Runner.PROCESS
        return Runner.COROUTINE if iscoroutinefunction(self.function) else Runner.THREAD

    def _changed(self, options: TaskOptions, **job_fields: Any) -> "Task[P, R_co]":
        changed = copy(self)
        changed.request = with_options(self.request, options, **job_fields)
        return changed

    def _handle(self, job: JobView) -> Handle[Any]:
        return Handle(job.id, self._signature.result, self._clients, job.execution_id)


def _has_context(arguments: tuple[Any, ...]) -> bool:
    return any(isinstance(argument, Context) for argument in arguments)


def _as_json(name: str, value: object) -> Any:
    try:
        return msgspec.json.decode(codec.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid.field(f"payload.{name}", f"cannot be written as JSON: {error}") from None


def _by_name(arguments: BoundArguments) -> dict[str, Any]:
    named = dict(arguments.arguments)
    for name, parameter in arguments.signature.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
    return named
