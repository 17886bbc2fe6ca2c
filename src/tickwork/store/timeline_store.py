"""What the time line shows of the past: which jobs and tasks ran lately, and what became of their executions."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import asyncpg

from tickwork.model.public_ids import execution_id
from tickwork.model.timeline import BarState, TimelineBar
from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class RecentRuns(NamedTuple):
    """How many executions of a job were found, by what became of them."""

    job: int
    task: str
    executions: int
    failed: int
    seconds: float = 0.0  # that they ran


class RunningNow(NamedTuple):
    """An execution that runs."""

    job: int
    task: str
    scheduled_for: datetime
    started_at: datetime


class PastBars(NamedTuple):
    """The past of a row."""

    bars: list[TimelineBar]
    run_times: list[tuple[float, int]]  # the median of each bar that has one, and how many executions it has
    complete_since: datetime | None = None  # None: since the beginning of the range


class Part(NamedTuple):
    """The part of the past that is shown, in steps."""

    begin: datetime
    end: datetime
    step: timedelta


class PostgresTimelineStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("timeline")

    async def now(self) -> datetime:
        return await self._database.now()

    async def recent(self, tenant_id: int, begin: datetime, end: datetime, limit: int) -> list[RecentRuns]:
        """Of the latest executions that were due in the range."""
        rows = await self._database.fetch(self._sql["recent_of_range"], tenant_id, begin, end, limit)
        return [RecentRuns(*row) for row in rows]

    async def failed(self, tenant_id: int, begin: datetime, end: datetime, limit: int) -> list[RecentRuns]:
        """Of the latest executions that failed for good."""
        rows = await self._database.fetch(self._sql["failed_in_range"], tenant_id, begin, end, limit)
        return [RecentRuns(row["job_id"], row["task"], 0, row["failed"]) for row in rows]

    async def running(self, tenant_id: int, limit: int) -> list[RunningNow]:
        return [
            RunningNow(*row) for row in await self._database.fetch(self._sql["running_now"], tenant_id, limit)
        ]

    async def bars_of_job(self, tenant_id: int, job: int, part: Part, limit: int) -> PastBars:
        """Of its latest due times, up to the limit."""
        rows = await self._database.fetch(self._sql["bars_of_job"], tenant_id, job, *part, limit)
        seen = rows[0]
        return _past(rows, seen["seen_from"] if seen["seen"] == limit else None)

    async def bars_of_tasks(
        self, tenant_id: int, tasks: Sequence[str], part: Part, limit: int
    ) -> dict[str, PastBars] | None:
        """None: there are more executions than the limit."""
        rows = await self._database.fetch(self._sql["bars_of_tasks"], tenant_id, list(tasks), *part, limit)
        if rows[0]["seen"] == limit:
            return None
        return {task: _past([row for row in rows if row["task"] == task]) for task in tasks}


def _past(rows: Sequence[asyncpg.Record], complete_since: datetime | None = None) -> PastBars:
    bars = [row for row in rows if row["state"] is not None]
    run_times = [(row["run_time"], row["executions"]) for row in bars if row["run_time"] is not None]
    return PastBars([_bar(row) for row in bars], run_times, complete_since)


def _bar(row: asyncpg.Record) -> TimelineBar:
    state: BarState = row["state"]
    is_one = row["executions"] == 1
    return TimelineBar(
        state=state,
        begin=row["begins"],
        until=row["ends"],
        counts={state: row["executions"]},
        execution_id=execution_id(row["job_id"], row["scheduled_for"]) if is_one else None,
    )
