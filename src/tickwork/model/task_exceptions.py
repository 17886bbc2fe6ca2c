"""Exceptions that a task raises to decide how its attempt ends, and those that end it at a checkpoint."""

from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration


class NoRetry(Exception):
    """The attempt failed, and trying again is useless."""


class Snooze(Exception):
    """Run the task again after this long. This uses no attempt."""

    def __init__(self, duration: Duration) -> None:
        super().__init__(duration)
        self.seconds = parse_duration(duration).total_seconds()


class Cancel(Exception):
    """End the execution as cancelled, for this reason."""


class CheckpointError(NoRetry):
    """A step or a state that cannot be stored, and could not be in another attempt either: the message says why."""


class AttemptLost(BaseException):
    """Raised by `ctx.step` and `ctx.checkpoint` when this attempt is no longer its worker's: it was cancelled or timed
    out, or its lease has expired and another attempt may run. Nothing was stored. Let it end the task: like
    `asyncio.CancelledError` it is no `Exception`, so that `except Exception` does not keep the task going."""
