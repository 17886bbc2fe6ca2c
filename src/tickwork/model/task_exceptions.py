"""Exceptions that a task raises to decide how its attempt ends."""

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
