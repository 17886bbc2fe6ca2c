"""Starts attempts when they are due. One timer serves all of them."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush

from tickwork.execute.attempt_state import Attempt
from tickwork.execute.clock import DatabaseClock
from tickwork.model.worker_protocol import Micros

_MIN_DELAY = 0.001  # seconds: attempts that are due within this time start together
_AttemptsAt = dict[Micros, list[Attempt]]  # in order of arrival: many are due at the same instant


class DueTimer:
    def __init__(self, clock: DatabaseClock, start: Callable[[list[Attempt]], None]) -> None:
        self._clock = clock
        self._start = start
        self._times: list[Micros] = []  # a heap
        self._attempts_at: _AttemptsAt = {}
        self._timer: asyncio.TimerHandle | None = None

    def put(self, attempt: Attempt) -> None:
        at = attempt.run.not_before
        if at in self._attempts_at:
            self._attempts_at[at].append(attempt)
        else:
            self._attempts_at[at] = [attempt]
            heappush(self._times, at)

    def start_due(self) -> None:
        """Start the attempts that are due and set the timer for the next. A timer may fire slightly early, so this
        compares with the clock."""
        now = self._clock.now()
        due: list[Attempt] = []
        while self._times and self._times[0] <= now:
            due += self._attempts_at.pop(heappop(self._times))
        self._set_timer(min_delay=_MIN_DELAY if due else 0.0)
        if due:
            self._start(due)

    def clear(self) -> None:
        self._times.clear()
        self._attempts_at.clear()
        self._set_timer()

    def _set_timer(self, min_delay: float = 0.0) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._times:
            delay = self._clock.seconds_until(self._times[0])
            self._timer = asyncio.get_running_loop().call_later(max(delay, min_delay), self.start_due)
