"""The worker's right to what it holds, which ends by itself."""

from math import inf

from tickwork.model.worker import MARGIN


class LeaseLost(Exception):
    """Nothing held is ours any more: drop it all and start anew as another worker."""


class Lease:
    """Counts from when the worker sent what the server answered, and ends a margin early: by the time that
    anybody else may start the same work, ours has stopped."""

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
