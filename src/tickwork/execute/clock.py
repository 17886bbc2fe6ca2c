"""The worker's monotonic clock, and an estimate of the database's clock."""

import sys
import time
from collections.abc import Callable
from functools import partial

from tickwork.model.worker_protocol import Micros

Elapsed = Callable[[], float]

_DRIFT = 100e-6  # seconds per second that two clocks may drift apart

# Seconds since an arbitrary moment. The clock is never set back, and where the platform allows it also counts the time
# in which the machine sleeps, because a lease expires in that time too.
elapsed: Elapsed
if sys.platform == "linux":
    elapsed = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
elif sys.platform == "win32":
    elapsed = time.monotonic
else:
    elapsed = partial(time.clock_gettime, time.CLOCK_MONOTONIC)


class DatabaseClock:
    """A lower bound of the database's time, so that nothing starts early.

    A request sent at s whose answer, received at r, carries the database's time T shows that the database is ahead of
    us by at least T - r and at most T - s. The clock keeps the largest lower bound, reduced by the possible drift since
    then. A shorter round trip gives a closer bound.
    """

    def __init__(self, measure: Elapsed = elapsed) -> None:
        self.elapsed = measure
        self._ahead = 0
        self._learned_at = 0.0

    def now(self) -> Micros:
        return self.at(self.elapsed())

    def at(self, elapsed: float) -> Micros:
        return int(elapsed * 1_000_000) + self._ahead

    def seconds_until(self, at: Micros) -> float:
        return (at - self.now()) / 1_000_000

    def learn(self, *, sent: float, database: Micros) -> None:
        received = self.elapsed()
        least = database - int(received * 1_000_000)
        most = database - int(sent * 1_000_000)
        aged = self._ahead - int((received - self._learned_at) * _DRIFT * 1_000_000)
        set_back = aged > most
        self._ahead = least if set_back else max(least, aged)
        self._learned_at = received
