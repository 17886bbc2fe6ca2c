"""Runs a task in the test itself: without server and database, but with the payload decoded as a worker does."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from datetime import datetime
from inspect import iscoroutine, iscoroutinefunction
from typing import Any, NamedTuple

import msgspec

from tickwork.model import python_values_to_json as codec
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.errors import Invalid
from tickwork.model.execution import ExecutionStatus, Progress
from tickwork.model.public_ids import execution_id, job_id
from tickwork.model.task_checkpoints import NewCheckpoint, TaskCheckpoints
from tickwork.model.task_context import Context, ParentOutcome
from tickwork.sdk.submit_task import Task

_JOB = 1  # the number in the ids that a context shows


class LoggedLine(NamedTuple):
    """One line that the task wrote with `ctx.log`."""

    level: str
    text: str


class TaskRun:
    """The outcome of one call of a task."""

    def __init__(self, context: Context, recorder: "_Recorder") -> None:
        self.context = context
        self.error: Exception | None = None
        self.logs: list[LoggedLine] = recorder.logs
        self.progress: list[Progress] = recorder.progresses
        self.states: list[Any] = recorder.states  # that it stored with `ctx.checkpoint`
        self.steps: dict[str, Any] = recorder.steps  # results of the steps that it ran, by name
        self.returned: Any = None  # also None if it raised

    def __repr__(self) -> str:
        ended = f"raised {self.error!r}" if self.error else f"returned {self.returned!r}"
        return f"<TaskRun {ended}>"

    @property
    def result(self) -> Any:
        """What the task returned. Raises what the task raised."""
        if self.error:
            raise self.error
        return self.returned


def run_task(
    task: Task[..., Any],
    payload: Mapping[str, Any] | None = None,
    *,
    attempt: int = 1,
    scheduled_for: datetime | None = None,
    parents: Mapping[str, Any] | None = None,
    state: Any = None,
    steps: Mapping[str, Any] | None = None,
) -> TaskRun:
    """Call a task at once, with a context if it takes one. `payload` has its arguments by name, and `parents`
    the results of the jobs it depends on, by the names of their tasks. `state` and `steps` are what earlier attempts
    have stored: the latest state, and results by the names of steps."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        called = run_task_async(
            task,
            payload,
            attempt=attempt,
            scheduled_for=scheduled_for,
            parents=parents,
            state=state,
            steps=steps,
        )
        return asyncio.run(called)
    raise RuntimeError("run_task cannot be called in an async test: write `await run_task_async(…)`")


async def run_task_async(
    task: Task[..., Any],
    payload: Mapping[str, Any] | None = None,
    *,
    attempt: int = 1,
    scheduled_for: datetime | None = None,
    parents: Mapping[str, Any] | None = None,
    state: Any = None,
    steps: Mapping[str, Any] | None = None,
) -> TaskRun:
    """As `run_task`, in an async test: the task runs on the loop of the test."""
    arguments = _arguments(task, payload or {})
    recorder = _Recorder(_stored(state, steps or {}), is_async=iscoroutinefunction(task.function))
    context = _context(recorder, attempt, scheduled_for, parents)
    if name := task.definition.context_parameter:
        arguments[name] = context
    run = TaskRun(context, recorder)
    try:
        returned = task.function(**arguments)
        run.returned = await returned if iscoroutine(returned) else returned
    except Exception as error:  # noqa: BLE001 (the test checks what the task raised)
        run.error = error
    else:
        _check_result(task, run.returned)
    return run


class _Recorder:
    """Records logs, progress and checkpoints of the task."""

    def __init__(self, stored: StoredCheckpoint, *, is_async: bool) -> None:
        self.logs: list[LoggedLine] = []
        self.progresses: list[Progress] = []
        self.states: list[Any] = []
        self.steps: dict[str, Any] = {}
        self._stored = stored
        self._is_async = is_async

    def make_checkpoints(self) -> TaskCheckpoints:
        """A loop runs here also while the task is none that awaits."""
        return TaskCheckpoints(self, in_loop=lambda: self._is_async)

    def recalled(self) -> StoredCheckpoint:
        return self._stored

    def keep(self, checkpoint: NewCheckpoint) -> "Future[None]":
        value = msgspec.json.decode(checkpoint.value)
        if checkpoint.step is None:
            self.states.append(value)
        else:
            self.steps[checkpoint.step] = value
        stored: Future[None] = Future()
        stored.set_result(None)
        return stored

    def log(self, level: str, text: str) -> None:
        self.logs.append(LoggedLine(level, text))

    def progress(self, fraction: float, message: str | None) -> None:
        self.progresses.append(Progress(fraction, message))


def _arguments(task: Task[..., Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """Encoded as JSON and decoded, as between `submit` and a worker."""
    sent = task.request_for(**payload).payload
    return task.definition.decode(msgspec.json.encode(sent))


def _stored(state: Any, steps: Mapping[str, Any]) -> StoredCheckpoint:
    results = {name: codec.encode(result) for name, result in steps.items()}
    return StoredCheckpoint(None if state is None else codec.encode(state), results)


def _context(
    recorder: _Recorder, attempt: int, scheduled_for: datetime | None, parents: Mapping[str, Any] | None
) -> Context:
    bare = Context(attempt=attempt, scheduled_for=scheduled_for)
    return Context(
        attempt=attempt,
        execution_id=execution_id(_JOB, bare.scheduled_for),
        job_id=job_id(_JOB),
        scheduled_for=bare.scheduled_for,
        listener=recorder,
        parents=_encode_parents(parents) if parents else None,
        checkpoints=recorder.make_checkpoints,
    )


def _encode_parents(parents: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(
        [
            ParentOutcome(job_id(_JOB + number), None, None, task, ExecutionStatus.COMPLETED, result)
            for number, (task, result) in enumerate(parents.items(), start=1)
        ]
    )


def _check_result(task: Task[..., Any], result: object) -> None:
    try:
        codec.encode(result)
    except (TypeError, ValueError, RecursionError) as error:
        hint = "return something that JSON can represent: a worker would record this attempt as failed"
        raise Invalid.field(f"result of {task.name}", f"cannot be written as JSON: {error}", hint) from None
