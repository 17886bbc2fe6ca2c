"""How many attempts the worker gets done, to say how many it can take."""

from tickwork.execute.clock import Elapsed

_LOOK_AHEAD = 0.1  # seconds: what is handed over is surely started within this time
_SAMPLE = 0.1  # seconds: a shorter measurement says little


class Pace:
    def __init__(self, elapsed: Elapsed) -> None:
        self._elapsed = elapsed
        self._since = elapsed()
        self._done = 0
        self._rate = 0.0

    def count(self, done: int) -> None:
        self._done += done

    def ahead(self) -> int:
        """How many more than it has slots for the worker will start soon, by its latest rate."""
        passed = self._elapsed() - self._since
        if passed >= _SAMPLE:
            self._rate = self._done / passed
            self._since += passed
            self._done = 0
        return int(self._rate * _LOOK_AHEAD)
