"""Keeps one bad row from blocking all others.

A batch that fails is split in halves until the bad row is found. That row is set aside with the reason. This costs
nothing while nothing fails. When many rows fail in a short time, the cause is not the rows: then the error is raised,
and the loop reports it.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TypeVar

import structlog
from prometheus_client import Counter

from tickwork.model.errors import TickworkError, Unavailable
from tickwork.model.json_limits import NUL

_MOST_SET_ASIDE = 20  # rows in a period; more means that something else is wrong
_PERIOD = 60.0  # seconds
_ROW_SQLSTATES = (
    "22",
    "23",
    "54",
)  # SQLSTATE classes: data exception, integrity violation, program limit exceeded
# What reading a corrupt row raises. Other exceptions are bugs in Tickwork: no row is set aside for them.
_ROW_EXCEPTIONS = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
    TickworkError,
)
_LONGEST_REASON = 300
_SET_ASIDE = Counter(
    "tickwork_set_aside_total", "Rows and reports set aside because they could not be processed.", ["loop"]
)
_log = structlog.get_logger("tickwork")
Item = TypeVar("Item")


class BadRowIsolation:
    """Counts the rows that one loop sets aside."""

    def __init__(self, loop: str, clock: Callable[[], float] = monotonic) -> None:
        self._loop = loop
        self._clock = clock
        self._last: deque[float] = deque(maxlen=_MOST_SET_ASIDE)
        _SET_ASIDE.labels(loop)  # from 0 on, or Prometheus would not see the first row as growth

    async def run_batch(
        self,
        items: Sequence[Item],
        do: Callable[[Sequence[Item]], Awaitable[None]],
        set_aside: Callable[[Item, Exception], Awaitable[None]],
    ) -> None:
        """Run `do` on the batch, in halves if it fails; an item that fails alone is set aside."""
        try:
            await do(items)
        except Exception as error:
            if not is_row_error(error):
                raise
            if len(items) > 1:
                middle = len(items) // 2
                await self.run_batch(items[:middle], do, set_aside)
                await self.run_batch(items[middle:], do, set_aside)
            else:
                self.note(error)
                await set_aside(items[0], error)

    async def run_each(
        self,
        items: Sequence[Item],
        do: Callable[[Item], Awaitable[None]],
        set_aside: Callable[[Item, Exception], Awaitable[None]],
    ) -> None:
        """Run `do` on each item. Those that fail are set aside. If too many fail, it raises after the last one."""
        too_many: Exception | None = None
        for item in items:
            try:
                await do(item)
            except Exception as error:
                if not is_row_error(error):
                    raise
                try:
                    self.note(error)
                except type(error):
                    too_many = error
                else:
                    await set_aside(item, error)
        if too_many:
            raise too_many

    def note(self, error: Exception) -> None:
        """Count and log an item that is set aside because of this error; raise the error if there are too many."""
        now = self._clock()
        if len(self._last) == _MOST_SET_ASIDE and now - self._last[0] < _PERIOD:
            raise error
        self._last.append(now)
        _SET_ASIDE.labels(self._loop).inc()
        _log.error("set aside a row that cannot be processed", loop=self._loop, error=error_text(error))


def is_row_error(error: Exception) -> bool:
    """Whether the data of one row can have caused the error, rather than the database or our code."""
    if isinstance(error, Unavailable):
        return False
    state: str | None = getattr(error, "sqlstate", None)
    return state[:2] in _ROW_SQLSTATES if state else isinstance(error, _ROW_EXCEPTIONS)


def error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace(NUL, "")[:_LONGEST_REASON]
