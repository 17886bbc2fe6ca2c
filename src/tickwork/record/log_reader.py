"""The log of an execution: read in pages, and followed while it grows."""

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

_SILENCE = 15.0  # seconds after which a follower is told that there is nothing new


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
        """Lines from there on and progress as they come, then the status that the execution ended with. None when
        there was nothing for a while. It ends without a status when this node stops."""
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
                elif feed.is_over and begin >= feed.end and feed.standing:
                    yield feed.standing.status
                    return
                elif not await _happens(changed):
                    yield None


def _progress(feed: LogFeed) -> AttemptProgress | None:
    standing = feed.standing
    if standing is None or standing.progress is None:
        return None
    return AttemptProgress(
        attempt=standing.attempt, fraction=standing.progress.fraction, message=standing.progress.message
    )


async def _happens(changed: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(_SILENCE):
            await changed.wait()
    return changed.is_set()
