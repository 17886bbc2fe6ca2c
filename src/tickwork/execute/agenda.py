"""Attempts whose time has not come yet, under one timer."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush

from tickwork.execute.attempt import Attempt
from tickwork.execute.clock import DatabaseClock
from tickwork.model.protocol import Micros

_Entry = tuple[Micros, int, Attempt]  # the number keeps those of the same instant in the order they came


class Agenda:
    def __init__(self, clock: DatabaseClock, start: Callable[[list[Attempt]], None]) -> None:
        self._clock = clock
        self._start = start
        self._waiting: list[_Entry] = []
        self._entries = 0
        self._timer: asyncio.TimerHandle | None = None

    def put(self, attempt: Attempt) -> None:
        self._entries += 1
        heappush(self._waiting, (attempt.run.not_before, self._entries, attempt))

    def start_due(self) -> None:
        """Start all whose time has come and wait for the next. A timer may ring a little early, so the clock
        is asked each time."""
        now = self._clock.now()
        due = []
        while self._waiting and self._waiting[0][0] <= now:
            due.append(heappop(self._waiting)[2])
        self._set_timer()
        if due:
            self._start(due)

    def clear(self) -> None:
        self._waiting.clear()
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            delay = self._clock.seconds_until(self._waiting[0][0])
            self._timer = asyncio.get_running_loop().call_later(max(delay, 0.0), self.start_due)
