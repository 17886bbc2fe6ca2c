"""Runs `async def` tasks on the worker's loop, and tasks that read the Run for themselves."""

from collections.abc import Coroutine, Generator
from contextvars import Context as Variables
from functools import partial
from types import coroutine
from typing import Any

from tickwork.execute.attempt import Attempt, Handler
from tickwork.execute.attempt_ending import ending_of_json, ending_of_value
from tickwork.execute.task_arguments import arguments_of
from tickwork.model.task import TaskDefinition


@coroutine
def remaining_steps(
    work: Coroutine[Any, Any, Any], variables: Variables, awaited: Any
) -> Generator[Any, Any, Any]:
    """All steps after the first, which ended by awaiting something."""
    while True:
        try:
            step = partial(work.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001 (a cancellation too belongs to the coroutine)
            step = partial(work.throw, error)
        try:
            awaited = variables.run(step)
        except StopIteration as end:
            return end.value


def coroutine_handler(task: TaskDefinition) -> Handler:
    function = task.function

    def begin(attempt: Attempt) -> Coroutine[Any, Any, Any]:
        return function(**arguments_of(task, attempt.run, attempt.make_context))  # type: ignore[no-any-return]

    return Handler(begin, ending_of_value)


def direct_handler(task: TaskDefinition) -> Handler:
    function = task.function

    def begin(attempt: Attempt) -> Coroutine[Any, Any, bytes | None]:
        return function(attempt.run)  # type: ignore[no-any-return]

    return Handler(begin, ending_of_json)
