"""App: the tasks of a program by name, and the recurring jobs that they declare."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

import msgspec

from tickwork.model.errors import FieldError, Invalid, TickworkError
from tickwork.model.explain_type_errors import type_errors
from tickwork.model.job import JobRequest
from tickwork.model.process_limits import ProcessLimits, limit_errors
from tickwork.model.task import TaskDefinition
from tickwork.model.task_context import Context
from tickwork.sdk.lazy_client import LazyClients
from tickwork.sdk.running_worker import RunningWorker
from tickwork.sdk.submit_task import Schedule, Task
from tickwork.sdk.task_decorator_types import (
    After0,
    After1,
    After2,
    After3,
    After4,
    After5,
    Anything,
    Decorator,
    TakesContext,
)
from tickwork.sdk.task_options import TaskOptions, check_option_names, with_options
from tickwork.sdk.task_parameters import definition_error, errors_of_shape

if TYPE_CHECKING:
    from tickwork.client.async_client import AsyncClient
    from tickwork.client.sync_client import Client

P = ParamSpec("P")
R = TypeVar("R")


class App:
    """The tasks of a program. Without clients, jobs go to the server that TICKWORK_URL names, or to the one that
    `tickwork up` runs in this folder."""

    def __init__(self, client: "Client | None" = None, async_client: "AsyncClient | None" = None) -> None:
        self.tasks: dict[str, Task[..., Any]] = {}
        self._worker: RunningWorker | None = None
        self._clients = LazyClients(client, async_client)

    def __repr__(self) -> str:
        return f"<App of {len(self.tasks)} tasks>"

    @property
    def worker(self) -> RunningWorker:
        """The worker that runs these tasks in this process: to change its labels and resources while it runs."""
        if self._worker is None:
            raise TickworkError(
                "no worker runs in this process: app.worker is there while `tickwork worker` runs the app, "
                "but not in the child processes of tasks with process=True"
            )
        return self._worker

    @worker.setter
    def worker(self, worker: RunningWorker) -> None:
        self._worker = worker

    @property
    def definitions(self) -> Mapping[str, TaskDefinition]:
        """What a worker needs to run the tasks, by task name. Raises Invalid with every error of every task."""
        definitions: dict[str, TaskDefinition] = {}
        errors: list[FieldError] = []
        for name, task in self.tasks.items():
            try:
                definitions[name] = task.definition
            except Invalid as invalid:
                errors.extend(invalid.errors)
        if errors:
            raise Invalid(errors)
        return definitions

    @overload
    def task(self, function: Callable[Concatenate[Anything, P], R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, function: TakesContext[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: After0[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: After1[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: After2[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: After3[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: After4[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: After5[R], /) -> Task[..., R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self,
        /,
        *,
        name: str | None = None,
        process: bool = False,
        memory: str | float | None = None,
        cpu_time: str | float | None = None,
        files: int | None = None,
        processes: int | None = None,
        schedule: Schedule | None = None,
        timezone: str | None = None,
        key: str | None = None,
        **options: Unpack[TaskOptions],
    ) -> Decorator: ...
    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        process: bool = False,
        memory: str | float | None = None,
        cpu_time: str | float | None = None,
        files: int | None = None,
        processes: int | None = None,
        schedule: Schedule | None = None,
        timezone: str | None = None,
        key: str | None = None,
        **options: Unpack[TaskOptions],
    ) -> Any:
        """Make a function a task: `@app.task` or `@app.task(retries=3, …)`. With a schedule, workers also create a
        recurring job for it when they start, under `key`. `memory`, `cpu_time`, `files` and `processes` limit what
        each attempt may use of a task that runs in a process."""
        check_option_names(options)
        limits = ProcessLimits(memory=memory, cpu_time=cpu_time, files=files, processes=processes)

        def register(function: Callable[..., Any]) -> Task[..., Any]:
            errors = [*errors_of_shape(function), *_limit_errors(limits, process=process)]
            request = JobRequest(task=name or default_name(function))
            try:
                request = with_options(request, options)
            except Invalid as invalid:
                errors.extend(invalid.errors)
            if schedule is None and (timezone or key):
                errors.append(FieldError("schedule", "is missing", "timezone and key apply to a schedule"))
            if request.task in self.tasks:
                message, hint = f"there are two tasks named {request.task!r}", "give one of them another name"
                errors.append(FieldError("name", message, hint))
            if errors:
                raise definition_error(function, errors)
            declared = _declared(request, schedule, timezone, key)
            task: Task[..., Any] = Task(
                function, request, self._clients, process=process, process_limits=limits, declared=declared
            )
            self.tasks[task.name] = task
            return task

        return register if function is None else register(function)


def _limit_errors(limits: ProcessLimits, *, process: bool) -> Iterator[FieldError]:
    try:
        msgspec.convert(msgspec.to_builtins(limits), ProcessLimits)
    except msgspec.ValidationError:
        yield from type_errors(msgspec.to_builtins(limits), ProcessLimits)
        return
    yield from limit_errors(limits, path="")
    if not process:
        for name, value in msgspec.structs.asdict(limits).items():
            if value is not None:
                yield FieldError(name, "is for a task that runs in a process", "add process=True")


def default_name(function: Callable[..., Any]) -> str:
    """module.function, with the module's real name even if it runs as a script."""
    module = function.__module__
    if module == "__main__":
        module = Path(getattr(sys.modules["__main__"], "__file__", None) or "main").stem
    return f"{module}.{function.__qualname__}".replace("<locals>.", "")


def _declared(
    request: JobRequest, schedule: Schedule | None, timezone: str | None, key: str | None
) -> JobRequest | None:
    if schedule is None:
        return None
    return with_options(
        request,
        {},
        schedule=schedule,
        timezone=timezone,
        key=key or f"task:{request.task}",
        if_exists="replace",
    )


def declared_jobs(app: App) -> list[JobRequest]:
    """The recurring jobs that a worker creates when it starts. Each has a key, so that many workers create one job.
    Raises Invalid with every task that cannot run without arguments."""
    jobs: list[JobRequest] = []
    errors: list[FieldError] = []
    for task in app.tasks.values():
        if task.declared:
            try:
                jobs.append(_declared_job(task, task.declared))
            except Invalid as invalid:
                errors.extend(invalid.errors)
    if errors:
        raise Invalid(errors)
    return jobs


def _declared_job(task: Task[..., Any], declared: JobRequest) -> JobRequest:
    try:
        payload = task.request_for().payload
    except TypeError as error:
        hint = "give the parameter a default, or submit the job with .on(…)"
        field_error = FieldError("schedule", f"runs the task without arguments: {error}", hint)
        raise definition_error(task.function, [field_error]) from None
    return msgspec.structs.replace(declared, payload=payload)
