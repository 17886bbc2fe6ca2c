"""Reads the log of an execution in pages, and follows it while it grows."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import datetime

from tickwork.model.attempt_log import BEGINNING, AttemptProgress, LogEntry, LogNews, Position, position_after
from tickwork.model.execution import ExecutionKey
from tickwork.model.field_types import Page
from tickwork.record.log_feed import LogFeed, LogFeeds
from tickwork.store.port.read import ReadStore
from tickwork.store.port.record import LogStore

_SILENCE = 15.0  # seconds without news after which a follower gets None


class LogReader:
    def __init__(self, store: LogStore, read: ReadStore, feeds: LogFeeds) -> None:
        self._store = store
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
        """Oldest first."""
        await self._read.execution(tenant_id, job, scheduled_for)
        key = ExecutionKey(tenant_id, scheduled_for, job)
        return await self._store.page(key, attempt, limit, cursor)

    async def tail(
        self, tenant_id: int, job: int, scheduled_for: datetime, attempt: int | None, count: int
    ) -> list[LogEntry]:
        await self._read.execution(tenant_id, job, scheduled_for)
        return await self._store.last_lines(ExecutionKey(tenant_id, scheduled_for, job), attempt, count)

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
                elif not await _wait(changed):
                    yield None


def _progress(feed: LogFeed) -> AttemptProgress | None:
    state = feed.state
    if state is None or state.progress is None:
        return None
    return AttemptProgress(
        attempt=state.attempt, fraction=state.progress.fraction, message=state.progress.message
    )


async def _wait(changed: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(_SILENCE):
            await changed.wait()
    return changed.is_set()
