"""Drives a coroutine inside a task that is not its own.

An asyncio task for each attempt would cost more than everything else about it. So a slot, which is a task
that lives long, steps through one coroutine after the other, each in its own copy of the context variables.
"""

from collections.abc import Coroutine, Generator
from contextvars import Context as Variables
from functools import partial
from types import coroutine
from typing import Any


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
