"""Following the log of an execution while it grows, on whichever node its lines are recorded.

    notes kept here ──▶ wake ─┐
    every half second ────────┴─▶ LogFeed ── asks the database once ──▶ its followers, each at a place of its own

A feed holds the newest page only. A follower that is slower reads the pages in between from the database by itself,
one at a time, so that it costs nobody else anything.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from time import monotonic

import structlog

from tickwork.model.attempt_log import BEGINNING, LogEntry, Position, position_after
from tickwork.model.errors import Unavailable
from tickwork.model.event import LogWritten
from tickwork.model.execution import ExecutionKey
from tickwork.store.port.record import LogState, LogStore

_log = structlog.get_logger("tickwork.feed")
_LOOK = 0.5  # seconds
_PAGE = 500
# Lines are kept apart from outcomes, so the last of them may be there a moment after the end.
_LINGER = 1.0
_LONG_AGO = timedelta(minutes=1)


class LogFeed:
    def __init__(self, store: LogStore, key: ExecutionKey) -> None:
        self._store = store
        self._key = key
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._end_seen: float | None = None
        self._begin = BEGINNING
        self._lines: list[LogEntry] = []  # from _begin to end
        self._shown: tuple[Position, bool, LogState] | None = None
        self.followers = 0
        self.changed = asyncio.Event()  # another one after each change
        self.standing: LogState | None = None  # not known yet
        self.end = BEGINNING
        self.is_over = False  # nothing will come after `end`
        self.is_closed = False  # no more looks are taken

    def start(self) -> None:
        self._task = asyncio.create_task(self._look_on())

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self.is_closed = True
        self._announce()

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def lines(self, begin: Position) -> list[LogEntry]:
        """The next page from there."""
        if begin >= self._begin:
            return [entry for entry in self._lines if (entry.attempt, entry.line) >= begin]
        return await self._store.lines(self._key, begin, _PAGE)

    async def _look_on(self) -> None:
        try:
            while not self.is_closed:
                self._woken.clear()
                is_behind = False
                with suppress(Unavailable):
                    is_behind = await self._look()
                if not is_behind:
                    await _either(self._woken, _LOOK)
        except Exception:
            _log.exception("feed failed")
            self.close()
            raise

    async def _look(self) -> bool:
        """Whether there is more to read at once."""
        standing = await self._store.state(self._key)
        if standing is None:
            self.close()
            return False
        if self.standing is None:
            self._begin = self.end = standing.end
        elif standing.end > self.end:
            await self._turn_page(standing.end)
        before = self._shown
        self.standing = standing
        is_behind = self.end < standing.end
        self.is_over = not is_behind and self._has_settled(standing)
        self._shown = (self.end, self.is_over, standing._replace(ended_for=None))
        if self._shown != before:
            self._announce()
        return is_behind

    async def _turn_page(self, end: Position) -> None:
        self._lines = await self._store.lines(self._key, self.end, _PAGE)
        self._begin, self.end = self.end, position_after(self._lines[-1]) if self._lines else end

    def _has_settled(self, standing: LogState) -> bool:
        if standing.ended_for is None:
            self._end_seen = None
            return False
        self._end_seen = self._end_seen or monotonic()
        return standing.ended_for > _LONG_AGO or monotonic() - self._end_seen > _LINGER

    def _announce(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class LogFeeds:
    """Those that somebody on this node follows."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._feeds: dict[ExecutionKey, LogFeed] = {}
        self._is_closed = False

    def after_lines(self, written: LogWritten) -> None:
        for key in self._feeds.keys() & written.executions:
            self._feeds[key].wake()

    def close(self) -> None:
        """The node stops: followers go to another one."""
        self._is_closed = True
        for feed in self._feeds.values():
            feed.close()

    @asynccontextmanager
    async def following(self, key: ExecutionKey) -> AsyncIterator[LogFeed]:
        feed = self._feeds.get(key) or self._start(key)
        feed.followers += 1
        try:
            yield feed
        finally:
            feed.followers -= 1
            if not feed.followers:
                self._feeds.pop(key)
                await feed.stop()

    def _start(self, key: ExecutionKey) -> LogFeed:
        feed = self._feeds[key] = LogFeed(self._store, key)
        if self._is_closed:
            feed.close()
        else:
            feed.start()
        return feed


async def _either(woken: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await woken.wait()
