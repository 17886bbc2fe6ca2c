"""Runs `async def` tasks, and tasks that take the Run itself, on the worker's event loop."""

from collections.abc import Coroutine, Generator
from contextvars import Context as Variables
from functools import partial
from types import coroutine
from typing import Any

from tickwork.execute.attempt_ending import ending_of_json, ending_of_value
from tickwork.execute.attempt_state import Attempt, Handler, arguments_of
from tickwork.model.task import TaskDefinition


@coroutine
def remaining_steps(
    work: Coroutine[Any, Any, Any], variables: Variables, awaited: Any
) -> Generator[Any, Any, Any]:
    """Run the rest of a coroutine whose first step ended by awaiting something."""
    while True:
        try:
            step = partial(work.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001 (a cancellation is for the coroutine, too)
            step = partial(work.throw, error)
        try:
            awaited = variables.run(step)
        except StopIteration as end:
            return end.value


def coroutine_handler(task: TaskDefinition) -> Handler:
    function = task.function

    def begin(attempt: Attempt) -> Coroutine[Any, Any, Any]:
        return function(**arguments_of(task, attempt.run, attempt.make_context))  # type: ignore[no-any-return]

    return Handler(begin, ending_of_value, task.context_parameter is not None)


def direct_handler(task: TaskDefinition) -> Handler:
    function = task.function

    def begin(attempt: Attempt) -> Coroutine[Any, Any, bytes | None]:
        return function(attempt.run)  # type: ignore[no-any-return]

    return Handler(begin, ending_of_json)
