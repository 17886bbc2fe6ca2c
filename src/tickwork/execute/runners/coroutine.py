"""Runs `async def` tasks on the worker's loop, and tasks that read the Run for themselves."""

from collections.abc import Coroutine
from typing import Any

from tickwork.execute.argument import arguments_of
from tickwork.execute.attempt import Attempt, Handler
from tickwork.execute.ending import returned_json, returned_value
from tickwork.model.task import TaskDefinition


def coroutine_handler(task: TaskDefinition) -> Handler:
    function = task.function

    def begin(attempt: Attempt) -> Coroutine[Any, Any, Any]:
        return function(**arguments_of(task, attempt.run, attempt.make_context))  # type: ignore[no-any-return]

    return Handler(begin, returned_value)


def direct_handler(task: TaskDefinition) -> Handler:
    function = task.function

    def begin(attempt: Attempt) -> Coroutine[Any, Any, bytes | None]:
        return function(attempt.run)  # type: ignore[no-any-return]

    return Handler(begin, returned_json)
