"""Runs an attempt that is not the first of its execution, once it has learned what those before it have stored."""

from functools import partial

from tickwork.execute.attempt_ending import Ending, unchanged
from tickwork.execute.attempt_state import Attempt, Handler


def recalled(handler: Handler) -> Handler:
    """For an attempt whose task takes a context."""
    return Handler(partial(_run, handler), unchanged)


async def _run(handler: Handler, attempt: Attempt) -> Ending:
    checkpoints = attempt.outboxes.checkpoints
    await checkpoints.recall(attempt)
    try:
        return handler.conclude(await handler.begin(attempt))
    finally:
        checkpoints.forget(attempt)
