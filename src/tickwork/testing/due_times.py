"""What the database of a test shows of the work that is left."""

from datetime import datetime

import asyncpg

# The next instant at which something becomes due: a schedule, a retry or snooze, an execution handed out early, or a
# job so far ahead that it has no execution yet.
_NEXT = """
SELECT min(at) FROM (
    SELECT min(next_at) AS at FROM tickwork.rule WHERE next_at > $1 AND next_at < 'infinity'
    UNION ALL
    SELECT min(ready_at) FROM tickwork.execution WHERE ready_at > $1 AND ready_at < 'infinity'
    UNION ALL
    SELECT min(scheduled_for) FROM tickwork.execution WHERE finished_at IS NULL AND scheduled_for > $1
    UNION ALL
    SELECT min(scheduled_for) FROM tickwork.job WHERE deferred AND status = 'active' AND scheduled_for > $1
) AS due
"""

# Differs from the one before when any row of the work was inserted, changed or deleted in between.
_FINGERPRINT = " || ' ' || ".join(
    f"(SELECT count(*) || ':' || coalesce(sum(xmin::text::bigint), 0) FROM tickwork.{table})"  # noqa: S608 (the tables below)
    for table in ("job", "rule", "execution", "attempt", "backfill", "awaited", "lease")
)

_UNFINISHED = """
SELECT j.task, e.status::text, e.attempt FROM tickwork.execution e JOIN tickwork.job j ON j.id = e.job_id
WHERE e.finished_at IS NULL AND (e.ready_at IS NULL OR e.ready_at <= tickwork.clock()) ORDER BY e.scheduled_for LIMIT 10
"""


class DueTimes:
    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def now(self) -> datetime:
        now: datetime = await self._connection.fetchval("SELECT tickwork.clock()")
        return now

    async def next_after(self, now: datetime) -> datetime | None:
        at: datetime | None = await self._connection.fetchval(_NEXT, now)
        return at

    async def fingerprint(self) -> str:
        text: str = await self._connection.fetchval(f"SELECT {_FINGERPRINT}")
        return text

    async def unfinished(self) -> list[str]:
        """What is due and has not ended, for people."""
        rows = await self._connection.fetch(_UNFINISHED)
        return [f"{row['task']} ({row['status']}, attempt {row['attempt']})" for row in rows]
