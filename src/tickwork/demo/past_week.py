"""Fills an empty database with the shop's last week.

Nothing is invented in tables: a real node fires, claims and records step by step, on a clock that this module moves
from due time to due time. So the history keeps all invariants, and statistics, events and causes of failures fit it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from tickwork.config import Settings
from tickwork.demo import shop_notifications
from tickwork.demo.past_outcomes import PastOutcome, PastOutcomes
from tickwork.demo.shop_jobs import (
    TAG,
    WORKFLOW,
    coming_jobs,
    recent_jobs,
    troubled_jobs,
    weekly_jobs,
    workflow_jobs,
)
from tickwork.demo.shop_tasks import app
from tickwork.loop_names import LoopName
from tickwork.model.access import Author, Requester, Scope
from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.errors import Conflict
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionStatus
from tickwork.model.job import HTTP_TASK, JobRequest
from tickwork.model.ping import PingRequest, Signal
from tickwork.model.public_ids import parse_execution_id, parse_job_id, parse_key_id, to_micros
from tickwork.model.queue import QueueSettings
from tickwork.model.worker_protocol import LogLine, Note, Outcome, Run
from tickwork.node import Node
from tickwork.store.demo_clock_and_statistics import PostgresDemoStore
from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.migrate import upgrade
from tickwork.store.pool import Database
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

_WEEK = timedelta(days=7)
_RECENT = timedelta(minutes=100)  # since when the frequent jobs exist
_DOWN = (
    timedelta(days=1, hours=5),
    timedelta(minutes=50),
)  # when no server ran: since the beginning, and how long
_CALLS_REFUSED = 8
_LONG_AGO = 5 * 60.0  # seconds: what runs longer is recorded when it ends, not at the next due time
_UPKEEP: tuple[LoopName, ...] = (
    "watch pings",
    "number events",
    "notify",
    "write statistics",
    "read failing jobs",
    "update breakers",
)
_UPKEEP_EVERY = 25  # steps


class _Running(NamedTuple):
    finished: int  # microseconds
    number: int  # to compare
    run: Run
    outcome: PastOutcome
    started: int


async def fill_past_week(settings: Settings, url: str, length: timedelta = _WEEK) -> bool:
    """Returns False if the shop is there already. `url`: of the server that is going to run."""
    postgres = None if settings.database_url else EmbeddedPostgres(settings.data_dir)
    database_url = await asyncio.to_thread(postgres.start) if postgres else settings.database_url or ""
    try:
        await upgrade(database_url)
        async with _open(database_url) as store:
            if await _is_filled(store):
                return False
            settings = msgspec.structs.replace(settings, database_url=database_url, http=False)
            async with store.fast_commits():
                await _fill(settings, store, url, length)
    finally:
        if postgres:
            await asyncio.to_thread(postgres.stop)
    return True


@asynccontextmanager
async def _open(database_url: str) -> AsyncIterator[PostgresDemoStore]:
    database = Database(database_url, size=1)
    await database.open()
    try:
        yield PostgresDemoStore(database)
    finally:
        await database.close()


async def _is_filled(store: PostgresDemoStore) -> bool:
    if await store.has_jobs_with(TAG):
        return True
    if await store.has_jobs():
        raise Conflict("the demo needs a new database, and this one has jobs; choose another --data-dir")
    return False


async def _fill(settings: Settings, store: PostgresDemoStore, url: str, length: timedelta) -> None:
    end = datetime.now(UTC)
    begin = (end - length).replace(second=0, microsecond=0)
    clock = SettableClock(settings.database_url or "")
    await clock.set(begin)
    try:
        node = Node(settings)
        await node.open()
        try:
            await PastWeek(node, store, begin, end, url).live()
        finally:
            await node.stop()
    finally:
        await clock.remove()


class PastWeek:
    def __init__(
        self, node: Node, store: PostgresDemoStore, begin: datetime, end: datetime, url: str
    ) -> None:
        self._node = node
        self._store = store
        self._begin, self._end, self._url = begin, end, url
        self._now = begin
        self._tenant_id = 1
        self._keys: dict[int, str] = {}
        self._outcomes = PastOutcomes(begin, self._keys)
        self._running: list[_Running] = []
        self._numbers = iter(range(1_000_000))
        self._happenings: list[tuple[datetime, Callable[[], Awaitable[None]]]] = []

    async def live(self) -> None:
        tasks = {name: definition.parameters for name, definition in app.definitions.items()}
        self._worker = await ScriptedWorker.connect(
            self._node, tasks, name="shop-1", host="shop-1", credit=200
        )
        self._caller = await ScriptedWorker.connect(self._node, [HTTP_TASK], tenant_id=None, name="built-in")
        self._teller = await ScriptedWorker.connect(
            self._node, [NOTIFY_TASK], tenant_id=None, name="built-in"
        )
        self._deploy = await self._author("deploy", is_session=False)
        self._ann = await self._author("ann@shop", is_session=True)
        await self._node.queues.set(self._tenant_id, "ml", QueueSettings(max_running=1))
        await self._node.queues.set(self._tenant_id, "mail", QueueSettings(rate="600/1m"))
        await self._set_channels_and_pings()
        await self._create([*weekly_jobs(self._url)])
        await self._create(workflow_jobs())
        self._plan()
        while (at := await self._next_time()) < self._end:
            await self._move_to(at)
            await self._step()
        await self._move_to(self._end)
        await self._report(everything=True)
        await self._upkeep()  # tells of what failed last, and the next step sends it
        await self._step()
        await self._report(everything=True)
        await self._create([*coming_jobs(self._end), *troubled_jobs()])
        for key in ("recommendations", "reindex", "finance-weekly"):
            await self._run(key)  # so that something runs and something waits from the first moment
        for _ in range(_CALLS_REFUSED):
            await self._run("labels")  # all of them are refused, so that the circuit breaker opens
        await self._upkeep()
        await self._store.prepare_statistics(self._begin, self._end)
        while await self._node.step("keep up statistics"):
            pass
        for worker in self._workers:
            await worker.leave_silently()

    def _plan(self) -> None:
        """What people did in that week."""
        day = timedelta(days=1)
        happenings: list[tuple[datetime, Callable[[], Awaitable[None]]]] = [
            (self._begin + 2 * day, lambda: self._run("prices")),
            (self._begin + 3.3 * day, self._redrive_some),
            (self._begin + 4 * day, lambda: self._run("reindex")),
            (self._begin + 4.1 * day, self._cancel_one),
            (self._begin + 5 * day, lambda: self._pause("thumbnails")),
            (self._begin + 5.5 * day, self._change_schedule),
            (self._end - _RECENT, lambda: self._create([*recent_jobs()])),
            (self._end - _RECENT, self._tell_the_warehouse),
            *self._reports_of_pings(),
        ]
        self._happenings = sorted(happenings, key=itemgetter(0))

    @property
    def _workers(self) -> tuple[ScriptedWorker, ...]:
        return self._worker, self._caller, self._teller

    def _worker_of(self, run: Run) -> ScriptedWorker:
        return {HTTP_TASK: self._caller, NOTIFY_TASK: self._teller}.get(run.task, self._worker)

    async def _set_channels_and_pings(self) -> None:
        pings = {name: await self._set_ping(name, ping) for name, ping in shop_notifications.pings().items()}
        receiver = f"http://127.0.0.1:{urlsplit(self._url).port}/ping/{pings[shop_notifications.RECEIVER]}"
        for name, channel in shop_notifications.channels(receiver).items():
            await self._node.channels.set(self._tenant_id, name, channel)
        for name, rule in shop_notifications.rules().items():
            await self._node.notifications.rules.set(self._tenant_id, name, rule)

    async def _set_ping(self, name: str, ping: PingRequest) -> str | None:
        return (await self._node.pings.set(self._tenant_id, name, ping)).token

    async def _tell_the_warehouse(self) -> None:
        """From now on nobody listens there: the server that is going to run finds out."""
        name, channel = shop_notifications.WAREHOUSE, shop_notifications.warehouse_channel()
        await self._node.channels.set(self._tenant_id, name, channel)
        await self._node.notifications.rules.set(self._tenant_id, name, shop_notifications.warehouse_rule())

    def _reports_of_pings(self) -> Iterator[tuple[datetime, Callable[[], Awaitable[None]]]]:
        for at, name, signal in shop_notifications.reports(self._begin, self._end):
            yield at, partial(self._hear, name, signal)

    async def _hear(self, name: str, signal: Signal) -> None:
        await self._node.pings.hear(self._tenant_id, name, signal)

    async def _next_time(self) -> datetime:
        due = await self._store.next_time(self._now)
        exact = [each.finished for each in self._running if self._is_exact(each)]
        ends = min(exact, default=None)
        times = [at for at in (due, self._happenings[0][0] if self._happenings else None) if at]
        if ends is not None:
            times.append(max(_time(ends), self._now + timedelta(milliseconds=1)))
        at = min(times, default=self._end)
        down = self._begin + _DOWN[0]
        return down + _DOWN[1] if down < at < down + _DOWN[1] else at

    def _is_exact(self, running: _Running) -> bool:
        """What others wait for, or what is tried again, ends exactly when it does."""
        followed = self._keys.get(running.run.job) in WORKFLOW
        return running.outcome.failure is not None or followed or running.outcome.run_time > _LONG_AGO

    async def _move_to(self, at: datetime) -> None:
        self._now = at
        await self._store.move_clock(at)
        await self._node.step("read clock")
        for worker in self._workers:
            await worker.beat()

    async def _step(self) -> None:
        await self._report()
        while self._happenings and self._happenings[0][0] <= self._now:
            await self._happenings.pop(0)[1]()
        while await self._node.step("fire") or await self._node.step("claim"):
            pass
        for worker in self._workers:
            for run in await worker.runs():
                self._begin_run(run)
        if next(self._numbers) % _UPKEEP_EVERY == 0:
            await self._upkeep()

    def _begin_run(self, run: Run) -> None:
        outcome = self._outcomes.of(run)
        could = max(run.at, run.not_before, to_micros(self._now) if run.attempt > 1 else 0)
        started = could + int(outcome.start_delay * 1e6)
        finished = started + int(outcome.run_time * 1e6)
        heappush(self._running, _Running(finished, next(self._numbers), run, outcome, started))

    async def _report(self, everything: bool = False) -> None:
        """Report what has ended by now."""
        ended: list[_Running] = []
        while self._running and (everything or self._running[0].finished <= to_micros(self._now)):
            ended.append(heappop(self._running))
        for worker in self._workers:
            own = [each for each in ended if self._worker_of(each.run) is worker]
            if own:
                await self._send_log(worker, own)
                await worker._report([_outcome(each, self._now) for each in own])  # noqa: SLF001

    async def _send_log(self, worker: ScriptedWorker, ended: Sequence[_Running]) -> None:
        notes = [_note(each) for each in ended if each.outcome.log]
        if notes:
            await worker.send_notes(notes)
            await self._node.step("write logs")

    async def _upkeep(self) -> None:
        for loop in _UPKEEP:
            while await self._node.step(loop):
                pass

    async def _create(self, requests: Sequence[JobRequest]) -> None:
        made = await self._node.jobs.create_many(self._tenant_id, requests, Requester(self._deploy))
        self._keys.update({parse_job_id(job.id): job.key or "" for job in made})
        await self._node.step("claim")

    async def _job(self, key: str) -> int:
        return await self._node.jobs.find(self._tenant_id, key)

    async def _run(self, key: str) -> None:
        await self._node.runs.run(self._tenant_id, await self._job(key))

    async def _pause(self, key: str) -> None:
        await self._node.jobs.pause(self._tenant_id, await self._job(key), self._ann)

    async def _change_schedule(self) -> None:
        """The mails go out for an hour longer; another day somebody wants more attempts, and then fewer."""
        job = await self._job("cart-mails")
        later = {"schedule": "30 8-21 * * *", "retry": {"max_attempts": 6}}
        await self._node.jobs.patch(self._tenant_id, job, later, requester=Requester(self._ann))
        fewer = {"retry": {"max_attempts": 3, "initial": "2m"}, "tags": ["mail", "marketing", "gdpr", TAG]}
        await self._node.jobs.patch(self._tenant_id, job, fewer, requester=Requester(self._deploy))

    async def _author(self, name: str, *, is_session: bool) -> Author:
        """Somebody who changes jobs, with a key of their own."""
        key, _ = await self._node.keys.create(await self._node.keys.operator(), name, [Scope.WRITE])
        return Author(parse_key_id(key.id), name, is_session)

    async def _redrive_some(self) -> None:
        """Somebody ran most of the payments again that failed in the outage."""
        letters = await self._node.history.list(
            self._tenant_id,
            ExecutionFilter(status=ExecutionStatus.FAILED, job=await self._job("capture-paylane")),
            4,
        )
        for letter in letters.items:
            await self._node.dead_letters.retry(self._tenant_id, *parse_execution_id(letter.id))

    async def _cancel_one(self) -> None:
        waiting = ExecutionFilter(status=ExecutionStatus.RUNNING, job=await self._job("recommendations"))
        for execution in (await self._node.history.list(self._tenant_id, waiting, 1)).items:
            job, scheduled_for = parse_execution_id(execution.id)
            with suppress(Conflict):
                await self._node.history.cancel(self._tenant_id, job, scheduled_for)
            self._running = [each for each in self._running if each.run.job != job]
            self._running.sort()


def _time(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1e6, UTC)


def _outcome(running: _Running, now: datetime) -> Outcome:
    run, past = running.run, running.outcome
    kind = AttemptOutcome.FAILED if past.failure else AttemptOutcome.COMPLETED
    finished = min(running.finished, to_micros(now))
    started = min(running.started, finished)
    return Outcome(
        run.tenant, run.at, run.job, run.attempt, kind, started, finished, past.result, past.failure
    )


def _note(running: _Running) -> Note:
    run = running.run
    lines = [
        LogLine(running.started + int(after * 1e6), level, text) for after, level, text in running.outcome.log
    ]
    return Note(run.tenant, run.at, run.job, run.attempt, 0, lines)
