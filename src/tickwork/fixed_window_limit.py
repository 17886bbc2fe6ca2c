"""Limits how many requests of one origin are taken in a period, in the memory of this node."""

from collections.abc import Callable
from time import monotonic


class FixedWindowLimit:
    """At most `most` in each `period` seconds for every key, of up to `most_keys` keys."""

    def __init__(
        self, most: int, period: float, most_keys: int, now: Callable[[], float] = monotonic
    ) -> None:
        self._most = most
        self._period = period
        self._most_keys = most_keys
        self._now = now
        self._counted: dict[str, tuple[float, int]] = {}  # the end of the period, and how many in it

    def wait(self, key: str) -> float:
        """Seconds until the next request of this key is taken; 0 if it is now."""
        until, count = self._counted.get(key, (0.0, 0))
        return max(0.0, until - self._now()) if count >= self._most else 0.0

    def count(self, key: str) -> None:
        now = self._now()
        until, count = self._counted.get(key, (0.0, 0))
        self._counted[key] = (until, count + 1) if now < until else (now + self._period, 1)
        if len(self._counted) > self._most_keys:
            self._counted = {each: counted for each, counted in self._counted.items() if counted[0] > now}
        if len(self._counted) > self._most_keys:
            self._counted.pop(next(iter(self._counted)))
