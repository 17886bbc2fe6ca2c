"""A few lines of a kind say what is wrong; fifty thousand of them hide it, and cost time."""

import asyncio
from collections.abc import Callable, Hashable

PERIOD = 10.0  # seconds
_OF_A_KIND = 5
_TOGETHER = 30


class LogRateLimit:
    """Admits some lines in every period, few of each kind. At its end it tells how many more there were.

    What is not admitted costs a comparison: ask before you put a line together.
    """

    def __init__(
        self,
        tell: Callable[[str], object],
        event: str,
        *,
        of_a_kind: int = _OF_A_KIND,
        together: int = _TOGETHER,
        period: float = PERIOD,
    ) -> None:
        """`tell` writes the line about those that were left out, which begins with `event`."""
        self._tell = tell
        self._event = event
        self._of_a_kind = of_a_kind
        self._together = together
        self._period = period
        self._kinds: dict[Hashable, int] = {}
        self._admitted = 0
        self._left_out = 0

    def admits(self, kind: Hashable = None) -> bool:
        if self._admitted >= self._together:
            self._left_out += 1
            return False
        of_this_kind = self._kinds.get(kind, 0)
        if of_this_kind >= self._of_a_kind:
            self._left_out += 1
            return False
        if not self._admitted:
            asyncio.get_running_loop().call_later(self._period, self.end_period)
        self._kinds[kind] = of_this_kind + 1
        self._admitted += 1
        return True

    def end_period(self) -> None:
        """Also when nothing will be told any more."""
        if self._left_out:
            self._tell(f"{self._event}: and {self._left_out:,} more like it in the last {self._period:g} s")
        self._kinds.clear()
        self._admitted = self._left_out = 0
