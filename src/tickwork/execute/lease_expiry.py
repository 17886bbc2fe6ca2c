"""The worker's right to run its attempts, which expires unless a server renews it."""

from math import inf

from tickwork.model.worker import MARGIN


class LeaseLost(Exception):
    """The worker must drop all its attempts and register as a new worker."""


class Lease:
    """Counts from when the worker sent the request that the server answered, and ends a margin early, so that its
    attempts have stopped before another worker may start them."""

    def __init__(self) -> None:
        self.token: str | None = None
        self.deadline = -inf  # by the worker's own clock
        self._seconds = 0.0

    def grant(self, token: str, *, sent: float, seconds: float) -> None:
        self.token, self._seconds = token, seconds
        self.deadline = sent + seconds - MARGIN.total_seconds()

    def renew(self, *, sent: float) -> None:
        self.deadline = max(self.deadline, sent + self._seconds - MARGIN.total_seconds())

    def drop(self) -> None:
        self.token, self.deadline = None, -inf

    def ran_out(self, now: float) -> bool:
        return self.token is not None and now > self.deadline

    def seconds_left(self, now: float, at_most: float) -> float:
        """Until the lease ends. `at_most` if there is none."""
        return at_most if self.token is None or self.ran_out(now) else min(at_most, self.deadline - now)
