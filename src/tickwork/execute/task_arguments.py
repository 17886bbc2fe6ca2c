"""The arguments of one call of a task, from the payload of its job."""

from collections.abc import Callable
from typing import Any

from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.model.task import TaskDefinition
from tickwork.model.task_context import Context
from tickwork.model.worker_protocol import Failure, Run


def arguments_of(task: TaskDefinition, run: Run, make_context: Callable[[], Context]) -> dict[str, Any]:
    try:
        arguments = task.decode(run.payload)
    except ValueError as error:
        raise AttemptFailed(
            Failure("BadPayload", f"the payload does not fit the task: {error}", retry=False)
        ) from None
    if task.context_parameter:
        arguments[task.context_parameter] = make_context()
    return arguments
