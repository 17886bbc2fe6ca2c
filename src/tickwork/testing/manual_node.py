"""A server node and its worker that run only step by step, on a clock that the test moves."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

from tickwork.config import Settings
from tickwork.loop_names import LoopName
from tickwork.model.errors import NotAllowed, TickworkError
from tickwork.node import Node
from tickwork.sdk.app import App, declared_jobs
from tickwork.testing.clock import SettableClock
from tickwork.testing.in_process_worker import InProcessWorker

# In the order in which a job passes through the node, then periodic upkeep.
_WORK: tuple[LoopName, ...] = (
    "backfill",
    "fire",
    "release queued",
    "claim",
    "revoke",
    "record",
    "store checkpoints",
    "write logs",
)
_UPKEEP: tuple[LoopName, ...] = (
    "create deferred",
    "skip rounds",
    "refresh full queues",
    "clean up slots",
    "update breakers",
    "reconcile",
    "rescue",
    "end callbacks",
)
_WHILE_BUSY: tuple[LoopName, ...] = ("revoke", "record", "store checkpoints", "write logs")
_POLL_INTERVAL = 0.001  # seconds
_PARTITIONS_AFTER = timedelta(hours=6)

# The next instant at which something becomes due: a schedule, a retry or snooze, an execution handed out early, the
# end of the time in which an HTTP target must report, or a job so far ahead that it has no execution yet.
_NEXT = """
SELECT min(at) FROM (
    SELECT min(next_at) AS at FROM tickwork.rule WHERE next_at > $1 AND next_at < 'infinity'
    UNION ALL
    SELECT min(ready_at) FROM tickwork.execution WHERE ready_at > $1 AND ready_at < 'infinity'
    UNION ALL
    SELECT min(scheduled_for) FROM tickwork.execution WHERE finished_at IS NULL AND scheduled_for > $1
    UNION ALL
    SELECT min(deadline) FROM tickwork.callback_wait WHERE deadline > $1
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


class StillBusy(TickworkError):
    """There was work left at the time limit."""


class ManualNode:
    def __init__(self, database_url: str, app: App, start_at: datetime | None = None) -> None:
        self._app = app
        self._start_at = start_at or datetime.now(UTC).replace(microsecond=0)
        self._clock = SettableClock(database_url)
        self._url = database_url
        self._opened = AsyncExitStack()
        self._partitions_at = self._start_at
        self.node = Node(Settings(database_url=database_url, data_dir=Path(".tickwork"), http=False))
        self.key = ""

    async def start(self) -> None:
        async with AsyncExitStack() as opening:
            await opening.enter_async_context(self._clock)
            await self._clock.set(self._start_at)
            await self.node.open()
            opening.push_async_callback(self.node.stop)
            connection = await asyncpg.connect(self._url)
            opening.push_async_callback(connection.close)
            self._pending = _PendingWork(connection)
            self.key = self.node.first_key or ""
            await self._start_worker(opening)
            self._opened = opening.pop_all()

    async def stop(self) -> None:
        await self._opened.aclose()

    async def now(self) -> datetime:
        return await self._pending.now()

    async def advance_to(self, until: datetime, within: float) -> None:
        """Let time pass. What becomes due in between runs at its own due time."""
        await self.run_until_idle(within)
        now = await self.now()
        if until < now:
            raise ValueError(f"time does not go back: it is {now.isoformat()}, after {until.isoformat()}")
        while (due := await self._next_due(now)) and due <= until:
            await self._set_time(now, due)
            await self.run_until_idle(within)
            now = due
        await self._set_time(now, until)
        await self.run_until_idle(within)

    async def run_until_idle(self, within: float) -> None:
        """Run everything that is due, and what becomes due by that, until nothing changes."""
        try:
            async with asyncio.timeout(within):
                before = ""
                while before != (before := await self._pending.fingerprint()) or self._worker.is_busy:
                    await self._step_all()
        except TimeoutError:
            left = ", ".join(await self._pending.unfinished()) or "nothing that is due"
            raise StillBusy(
                f"not idle after {within:g} seconds; left: {left}. Does a task wait for something that the test does "
                f"later, or submit itself again without end? If it only takes long, give it more time with `within`."
            ) from None

    async def _start_worker(self, opening: AsyncExitStack) -> None:
        caller = await self.node.keys.authenticate(self.key)
        if caller is None:
            raise NotAllowed("the database has an admin key already: give each test a new database")
        self._worker = InProcessWorker(self._app, self.node.gateway, caller)
        await self._worker.start()
        opening.push_async_callback(self._worker.stop)
        for job in declared_jobs(self._app):
            await self.node.jobs.create_one(caller.tenant_id, job)
        await self.node.step("claim")  # the node learns which tasks there are

    async def _next_due(self, now: datetime) -> datetime | None:
        """The next due time in the database, or of an attempt that the worker got early."""
        times = (await self._pending.next_after(now), self._worker.next_start)
        return min((at for at in times if at and at > now), default=None)

    async def _set_time(self, now: datetime, at: datetime) -> None:
        await self._clock.set(at)
        self._worker.move_time(at - now)
        await self.node.step("read clock")
        await self._renew_lease()
        if at - self._partitions_at >= _PARTITIONS_AFTER:
            self._partitions_at = at
            await self.node.step("maintain partitions")

    async def _renew_lease(self) -> None:
        """Must come before the rescue: for this worker, no time has passed."""
        renewed = await self._worker.send_beat()
        while not renewed.is_set():
            await asyncio.sleep(_POLL_INTERVAL)
            await self.node.step("renew")

    async def _step_all(self) -> None:
        for loop in (*_WORK, *_UPKEEP):
            await self.node.step(loop)
        await asyncio.sleep(_POLL_INTERVAL)  # what was handed over reaches the worker
        while self._worker.is_busy:
            await asyncio.sleep(_POLL_INTERVAL)
            for loop in _WHILE_BUSY:
                await self.node.step(loop)


class _PendingWork:
    """Reads from the database what is still to run."""

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
        """Descriptions of what is due and has not ended."""
        rows = await self._connection.fetch(_UNFINISHED)
        return [f"{row['task']} ({row['status']}, attempt {row['attempt']})" for row in rows]
