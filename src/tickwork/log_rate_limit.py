"""Limits how many similar lines are logged: thousands of them would hide the cause, and cost time."""

import asyncio
from collections.abc import Callable, Hashable

PERIOD = 10.0  # seconds
_PER_KIND = 5
_TOTAL = 30


class LogRateLimit:
    """Admits a limited number of lines per period, and per kind of line. At the end of the period it logs how many were
    left out.

    A line that is not admitted costs only a comparison: call `admits` before you format the line.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        event: str,
        *,
        per_kind: int = _PER_KIND,
        total: int = _TOTAL,
        period: float = PERIOD,
    ) -> None:
        """`write` logs the line about those that were left out, which begins with `event`."""
        self._write = write
        self._event = event
        self._per_kind = per_kind
        self._total = total
        self._period = period
        self._kinds: dict[Hashable, int] = {}
        self._admitted = 0
        self._left_out = 0

    def admits(self, kind: Hashable = None) -> bool:
        if self._admitted >= self._total:
            self._left_out += 1
            return False
        of_this_kind = self._kinds.get(kind, 0)
        if of_this_kind >= self._per_kind:
            self._left_out += 1
            return False
        if not self._admitted:
            asyncio.get_running_loop().call_later(self._period, self.end_period)
        self._kinds[kind] = of_this_kind + 1
        self._admitted += 1
        return True

    def end_period(self) -> None:
        """Log what was left out. Call it also before the program ends."""
        if self._left_out:
            self._write(f"{self._event}: and {self._left_out:,} more like it in the last {self._period:g} s")
        self._kinds.clear()
        self._admitted = self._left_out = 0
