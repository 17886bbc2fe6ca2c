"""Reads the log of an execution in pages, and follows it while it grows, no matter which node writes its lines.

    lines written by this node ──▶ wake ─┐
    every half second ───────────────────┴─▶ LogFeed ── reads the database once ──▶ all of its followers

A feed keeps only the newest page. A follower that is slower reads the pages before it from the database, one at a time,
so that it does not slow down the others.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from time import monotonic

import structlog

from tickwork.model.attempt_log import BEGINNING, AttemptProgress, LogEntry, LogNews, Position, position_after
from tickwork.model.errors import NotFound, Unavailable
from tickwork.model.event_after_commit import LogWritten
from tickwork.model.execution import ExecutionKey
from tickwork.model.field_types import Page
from tickwork.store.port.archive import RestoredStore
from tickwork.store.port.read_jobs_executions_workers import ReadStore
from tickwork.store.port.record import LogState, LogStore

_log = structlog.get_logger("tickwork.feed")
_POLL_INTERVAL = 0.5  # seconds
_PAGE = 500
# Lines and outcomes are written in separate transactions, so the last lines may come shortly after the end.
_LAST_LINES_WITHIN = 1.0  # seconds
_LONG_AGO = timedelta(minutes=1)

_SILENCE = 15.0  # seconds without news after which a follower gets None


class LogFeed:
    def __init__(self, store: LogStore, key: ExecutionKey) -> None:
        self._store = store
        self._key = key
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._end_seen: float | None = None
        self._begin = BEGINNING
        self._lines: list[LogEntry] = []  # from _begin to end
        self._last_shown: tuple[Position, bool, LogState] | None = None
        self.followers = 0
        self.changed = asyncio.Event()  # replaced after each change
        self.state: LogState | None = None  # not known yet
        self.end = BEGINNING
        self.is_over = False  # nothing will come after `end`
        self.is_closed = False  # it reads no more

    def start(self) -> None:
        self._task = asyncio.create_task(self._poll_until_closed())

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self.is_closed = True
        self._notify()

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def lines(self, begin: Position) -> list[LogEntry]:
        """The next page, from this position on."""
        if begin >= self._begin:
            return [entry for entry in self._lines if (entry.attempt, entry.line) >= begin]
        return await self._store.lines(self._key, begin, _PAGE)

    async def _poll_until_closed(self) -> None:
        try:
            while not self.is_closed:
                self._woken.clear()
                is_behind = False
                with suppress(Unavailable):
                    is_behind = await self._poll()
                if not is_behind:
                    await _wait(self._woken, _POLL_INTERVAL)
        except Exception:
            _log.exception("log feed failed")
            self.close()
            raise

    async def _poll(self) -> bool:
        """Read the state and at most one page; whether there is more to read at once."""
        state = await self._store.state(self._key)
        if state is None:
            self.close()
            return False
        if self.state is None:
            self._begin = self.end = state.end
        elif state.end > self.end:
            await self._read_page(state.end)
        before = self._last_shown
        self.state = state
        is_behind = self.end < state.end
        self.is_over = not is_behind and self._is_complete(state)
        self._last_shown = (self.end, self.is_over, state._replace(ended_for=None))
        if self._last_shown != before:
            self._notify()
        return is_behind

    async def _read_page(self, end: Position) -> None:
        self._lines = await self._store.lines(self._key, self.end, _PAGE)
        self._begin, self.end = self.end, position_after(self._lines[-1]) if self._lines else end

    def _is_complete(self, state: LogState) -> bool:
        if state.ended_for is None:
            self._end_seen = None
            return False
        self._end_seen = self._end_seen or monotonic()
        return state.ended_for > _LONG_AGO or monotonic() - self._end_seen > _LAST_LINES_WITHIN

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class LogFeeds:
    """One feed for each execution whose log is followed on this node."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self._feeds: dict[ExecutionKey, LogFeed] = {}
        self._is_closed = False

    def after_lines(self, written: LogWritten) -> None:
        for key in self._feeds.keys() & written.executions:
            self._feeds[key].wake()

    def close(self) -> None:
        """The node stops: followers reconnect to another one."""
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


async def _wait(woken: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await woken.wait()
    return woken.is_set()


class LogReader:
    def __init__(self, store: LogStore, read: ReadStore, feeds: LogFeeds, restored: RestoredStore) -> None:
        self._store = store
        self._restored = restored
        self._read = read
        self._feeds = feeds

    async def page(
        self,
        tenant_id: int,
        job: int,
        scheduled_for: datetime,
        attempt: int | None,
        limit: int,
        cursor: str | None = None,
    ) -> Page[LogEntry]:
        """Oldest first. What was brought back from the archive is one page."""
        key = ExecutionKey(tenant_id, scheduled_for, job)
        lines = await self._restored_lines(key, attempt)
        if lines is not None:
            return Page(lines)
        return await self._store.page(key, attempt, limit, cursor)

    async def tail(
        self, tenant_id: int, job: int, scheduled_for: datetime, attempt: int | None, count: int
    ) -> list[LogEntry]:
        key = ExecutionKey(tenant_id, scheduled_for, job)
        lines = await self._restored_lines(key, attempt)
        return await self._store.last_lines(key, attempt, count) if lines is None else lines[-count:]

    async def _restored_lines(self, key: ExecutionKey, attempt: int | None) -> list[LogEntry] | None:
        """None if the execution is not from the archive. NotFound if there is none at all."""
        try:
            await self._read.execution(key.tenant_id, key.job_id, key.scheduled_for)
        except NotFound:
            found = await self._restored.find(key)
            if found is None:
                raise
            return [entry for entry in found.log if attempt in (None, entry.attempt)]
        return None

    async def follow(
        self, tenant_id: int, job: int, scheduled_for: datetime, attempt: int | None, begin: Position
    ) -> AsyncGenerator[LogNews, None]:
        """Yield lines from `begin` on and progress as they come, then the status that the execution ended with; None
        after a while without news. Ends without a status when this node stops."""
        async with self._feeds.following(ExecutionKey(tenant_id, scheduled_for, job)) as feed:
            begin = max(begin, Position(attempt, 0) if attempt is not None else BEGINNING)
            progress: AttemptProgress | None = None
            while not feed.is_closed:
                changed = feed.changed
                while begin < feed.end:
                    end = feed.end
                    lines = await feed.lines(begin)
                    begin = position_after(lines[-1]) if lines else end
                    for entry in lines:
                        if attempt in (None, entry.attempt):
                            yield entry
                if (latest := _progress(feed)) and latest != progress:
                    progress = latest
                    yield latest
                elif feed.is_over and begin >= feed.end and feed.state:
                    yield feed.state.status
                    return
                elif not await _wait(changed, _SILENCE):
                    yield None


def _progress(feed: LogFeed) -> AttemptProgress | None:
    state = feed.state
    if state is None or state.progress is None:
        return None
    return AttemptProgress(
        attempt=state.attempt, fraction=state.progress.fraction, message=state.progress.message
    )
