"""The clock that measures, and the database's clock as seen from here."""

import sys
import time
from collections.abc import Callable
from functools import partial

from tickwork.model.worker_protocol import Micros

Elapsed = Callable[[], float]

_DRIFT = 100e-6  # how far two clocks may part, in seconds per second

# Seconds since some moment, never set back and not halted while the machine sleeps: a lease runs out in
# that time too.
elapsed: Elapsed
if sys.platform == "linux":
    elapsed = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
elif sys.platform == "win32":
    elapsed = time.monotonic
else:
    elapsed = partial(time.clock_gettime, time.CLOCK_MONOTONIC)


class DatabaseClock:
    """What the database's clock shows at least, so that nothing starts early.

    An answer that carries the database's time T, received at r to a question sent at s, was made in between.
    So the database is ahead of us by no less than T - r and no more than T - s. The largest of those lower
    bounds is kept, aged by what clocks may drift; it is the nearer, the shorter the round trip was.
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
