"""How many attempts the worker gets done, to say how many it can take."""

from tickwork.execute.clock import Elapsed

_LOOK_AHEAD = (
    0.25  # seconds: as long as servers hand over ahead of time, and soon enough for what comes after
)
_SAMPLE = 0.1  # seconds: a shorter measurement says little
_HALF_LIFE = 10.0  # seconds: work comes in bursts, and what was possible in the last one is so in the next


class Pace:
    def __init__(self, elapsed: Elapsed) -> None:
        self._elapsed = elapsed
        self._since = elapsed()
        self._done = 0
        self._rate = 0.0

    def count(self, done: int) -> None:
        self._done += done

    def ahead(self) -> int:
        """How many more than it has slots for the worker will start soon, by its best rate of late."""
        passed = self._elapsed() - self._since
        if passed >= _SAMPLE:
            faded = self._rate * 0.5 ** (passed / _HALF_LIFE)
            self._rate = max(self._done / passed, faded)
            self._since += passed
            self._done = 0
        return int(self._rate * _LOOK_AHEAD)

    def forget(self) -> None:
        """It was too optimistic: what comes now takes longer."""
        self._rate = 0.0
        self._done = 0
        self._since = self._elapsed()
