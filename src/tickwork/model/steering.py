"""Exceptions that a task raises to say how its attempt ends."""

from tickwork.model.duration import parse_duration
from tickwork.model.job import Duration


class NoRetry(Exception):
    """Failed, and trying again is useless."""


class Snooze(Exception):
    """Run me again after this long. Uses up no attempt."""

    def __init__(self, duration: Duration) -> None:
        super().__init__(duration)
        self.seconds = parse_duration(duration).total_seconds()


class Cancel(Exception):
    """End the execution as cancelled, for this reason."""
