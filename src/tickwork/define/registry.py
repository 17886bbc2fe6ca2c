"""An App: the tasks of a program, by name."""

import sys
from collections.abc import Callable, Mapping
from inspect import isasyncgenfunction, isgeneratorfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from tickwork.define.connection import Connections
from tickwork.define.option import Errors, with_options
from tickwork.define.task import Schedule, Task
from tickwork.model.context import Context
from tickwork.model.errors import Invalid
from tickwork.model.job import Duration, JobRequest, Priority
from tickwork.model.task import TaskDefinition
from tickwork.model.terms import FairShare, Limit, Requires

if TYPE_CHECKING:
    from tickwork.client.asynchronous import AsyncClient
    from tickwork.client.sync import Client

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class _TakesContext(Protocol[R_co]):
    """The worker gives the context, so whoever submits must not. No type can say "all parameters but that
    one", so arguments of such a task are checked only when it is submitted."""

    def __call__(self, *args: Any, ctx: Context, **kwargs: Any) -> R_co: ...


class _Decorator(Protocol):
    @overload
    def __call__(self, function: _TakesContext[R], /) -> Task[..., R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


class App:
    """Without clients, jobs go to the server that TICKWORK_URL names or that `tickwork up` runs here."""

    def __init__(self, client: "Client | None" = None, async_client: "AsyncClient | None" = None) -> None:
        self.tasks: dict[str, Task[..., Any]] = {}
        self._connections = Connections(client, async_client)

    @property
    def definitions(self) -> Mapping[str, TaskDefinition]:
        return {name: task.definition for name, task in self.tasks.items()}

    @overload
    def task(self, function: _TakesContext[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self,
        /,
        *,
        name: str | None = None,
        retries: int | None = None,
        retry_on: Errors | None = None,
        never_retry_on: Errors | None = None,
        timeout: Duration | None = None,
        queue: str | None = None,
        priority: Priority | None = None,
        requires: Requires | None = None,
        limits: list[Limit] | None = None,
        fair_share: FairShare | None = None,
        tags: list[str] | None = None,
        process: bool = False,
        schedule: Schedule | None = None,
        timezone: str | None = None,
        key: str | None = None,
    ) -> _Decorator: ...
    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        retries: int | None = None,
        retry_on: Errors | None = None,
        never_retry_on: Errors | None = None,
        timeout: Duration | None = None,
        queue: str | None = None,
        priority: Priority | None = None,
        requires: Requires | None = None,
        limits: list[Limit] | None = None,
        fair_share: FairShare | None = None,
        tags: list[str] | None = None,
        process: bool = False,
        schedule: Schedule | None = None,
        timezone: str | None = None,
        key: str | None = None,
    ) -> Any:
        """Make a function a task: `@app.task` or `@app.task(retries=3, …)`. With a schedule, a job of that
        key is declared too, which workers create when they start."""

        def register(function: Callable[..., Any]) -> Task[..., Any]:
            _refuse_generators(function)
            request = with_options(
                JobRequest(task=name or default_name(function)),
                retries=retries,
                retry_on=retry_on,
                never_retry_on=never_retry_on,
                timeout=timeout,
                queue=queue,
                priority=priority,
                requires=requires,
                limits=limits,
                fair_share=fair_share,
                tags=tags,
            )
            declared = _declared(request, schedule, timezone, key)
            return self._add(Task(function, request, self._connections, process=process, declared=declared))

        return register if function is None else register(function)

    def _add(self, task: Task[..., Any]) -> Task[..., Any]:
        if task.name in self.tasks:
            raise Invalid.field(
                "name", f"there are two tasks named {task.name!r}", "give one of them another name"
            )
        self.tasks[task.name] = task
        return task


def default_name(function: Callable[..., Any]) -> str:
    """module.function, also when the module is run as a script."""
    module = function.__module__
    if module == "__main__":
        module = Path(getattr(sys.modules["__main__"], "__file__", None) or "main").stem
    return f"{module}.{function.__qualname__}".replace("<locals>.", "")


def _declared(
    request: JobRequest, schedule: Schedule | None, timezone: str | None, key: str | None
) -> JobRequest | None:
    if schedule is None:
        if timezone or key:
            raise Invalid.field("schedule", "is missing", "timezone and key say more about a schedule")
        return None
    return with_options(
        request,
        schedule=schedule,
        timezone=timezone,
        key=key or f"task:{request.task}",
        if_exists="replace",
    )


def _refuse_generators(function: Callable[..., Any]) -> None:
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        raise Invalid.field(function.__name__, "yields, but a task returns once", "return a list instead")
