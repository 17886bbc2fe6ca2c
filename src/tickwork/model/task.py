"""A task: code that can be run, known by name."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple


class Runner(StrEnum):
    """Where a task's code runs."""

    COROUTINE = "coroutine"  # on the worker's loop
    THREAD = "thread"
    PROCESS = "process"
    DIRECT = "direct"  # on the loop; handed the Run itself, answers with JSON: `async (Run) -> bytes | None`


class TaskDefinition(NamedTuple):
    name: str
    function: Callable[..., Any]
    runner: Runner
    decode: Callable[[bytes], dict[str, Any]]  # payload -> arguments; ValueError says what is wrong
    parameters: dict[str, Any]  # JSON Schema of the payload
    context_parameter: str | None = None
    description: str | None = None
    defaults: dict[str, Any] = {}  # noqa: RUF012 (nobody changes it); of its jobs: priority, queue, timeout, retry


def direct_task(name: str, function: Callable[..., Any], description: str | None = None) -> TaskDefinition:
    """A task that reads the Run for itself, such as the built-in one for HTTP jobs."""
    return TaskDefinition(
        name, function, Runner.DIRECT, decode=_no_arguments, parameters={}, description=description
    )


def _no_arguments(_payload: bytes) -> dict[str, Any]:
    return {}
