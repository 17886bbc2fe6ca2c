"""Searching jobs through the index finds what reading every job would find, whatever happened to the jobs meanwhile."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tickwork.model.dead_letter import DeadLetterFilter
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest, JobStatus, JobView, RetryRequest
from tickwork.model.job_filter import JobCount, JobFilter
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.model.search_words import has_words, words_of
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.store.job_index.read_index import LikelyJobs
from tickwork.store.job_index.write_index import PostgresJobIndex
from tickwork.store.job_search import by_next_run, jobs_due_between
from tickwork.store.job_search.check_found_jobs import JobMatcher
from tickwork.store.job_search.jobs_due_between import DueCandidates
from tickwork.store.job_search.search_jobs import PostgresJobSearch
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TASKS = ("mail.send", "mail.drop", "reports.weekly", "reports.daily.eu", "work")
TAGS = ("billing", "eu", "us", "slow")
WORDS = ("Weekly", "daily", "report", "Reports", "Straße", "customer 12", "customer 123", "x_y")
QUEUES = ("default", "mail", "bulk")
OWNERS = ("team-a", "Team B", None)
OTHER_TENANT = 2
BROKEN = Failure("ValueError", "no", "Traceback …")


def some_job(chance: random.Random, number: int) -> JobRequest:
    schedule: Any = chance.choice(
        (None, "every 1h", "every 2h", "0 9 * * *", {"in": "3h"}, {"in": f"{1 + chance.randrange(90)}m"})
    )
    return JobRequest(
        task=chance.choice(TASKS),
        name=" ".join(chance.sample(WORDS, chance.randrange(3))) or None,
        key=f"key-{number}" if chance.random() < 0.5 else None,
        schedule=schedule,
        queue=chance.choice(QUEUES),
        priority=chance.choice(("critical", "high", "normal", "low")),
        tags=chance.sample(TAGS, chance.randrange(3)),
        owner=chance.choice(OWNERS),
        description=chance.choice((None, "sends the invoices", "never mind")),
        retry=RetryRequest(max_attempts=1),
    )


def some_filter(chance: random.Random, now: datetime) -> JobFilter:
    """One or two conditions, and an order."""
    choices: dict[str, Any] = {
        "status": lambda: chance.choice([*JobStatus]),
        "health": lambda: chance.choice(("ok", "failing", "late", "blocked", "unknown")),
        "task": lambda: chance.choice((*TASKS, "mail.*", "reports.*", "reports.daily.*", "none.*")),
        "queue": lambda: chance.choice(QUEUES),
        "priority": lambda: chance.choice(("critical", "low")),
        "tag": lambda: tuple(chance.sample(TAGS, chance.randrange(1, 3))),
        "owner": lambda: chance.choice(("team-a", "Team B", "nobody")),
        "recurring": lambda: chance.random() < 0.5,
        "q": lambda: chance.choice(
            ("report", "rep", "reports weekly", "12", "strasse", "invoices", "key 7", "mail", "y", "nothing")
        ),
        "created_after": lambda: now - timedelta(minutes=chance.randrange(200)),
        "created_before": lambda: now - timedelta(minutes=chance.randrange(200)),
        "due_after": lambda: now + timedelta(minutes=chance.randrange(-60, 200)),
        "due_before": lambda: now + timedelta(minutes=chance.randrange(-60, 200)),
    }
    names = chance.sample([*choices], chance.randrange(1, 3))
    sort = chance.choice(("-created_at", "created_at", "next_run_at", "health"))
    return JobFilter(**{name: choices[name]() for name in names}, sort=sort)  # type: ignore[arg-type]


def fits(job: JobView, wanted: JobFilter) -> bool:
    """The filter, read off the job."""
    texts = (job.name, job.key, job.task, *job.tags, job.description)
    words = [word for text in texts if text for word in words_of(text)]
    prefix = wanted.task_prefix
    return (
        wanted.status in (None, job.status)
        and wanted.health in (None, job.health)
        and (wanted.task in (None, job.task) or bool(prefix and job.task and job.task.startswith(prefix)))
        and wanted.queue in (None, job.queue)
        and wanted.priority in (None, job.priority)
        and set(wanted.tag) <= set(job.tags)
        and wanted.owner in (None, job.owner)
        and wanted.recurring in (None, job.execution_id is None)
        and (wanted.q is None or has_words(words, words_of(wanted.q)))
        and (wanted.created_after is None or job.created_at > wanted.created_after)
        and (wanted.created_before is None or job.created_at < wanted.created_before)
        and (wanted.due_after is None or (job.next_run_at is not None and job.next_run_at > wanted.due_after))
        and (
            wanted.due_before is None or (job.next_run_at is not None and job.next_run_at < wanted.due_before)
        )
        and (wanted.sort != "next_run_at" or job.next_run_at is not None)
    )


RANKS = {"failing": 0, "blocked": 1, "late": 2, "ok": 3, "unknown": 3}


def in_order(jobs: list[JobView], sort: str) -> list[JobView]:
    newest = sorted(jobs, key=lambda job: -parse_job_id(job.id))
    if sort == "created_at":
        return newest[::-1]
    return sorted(newest, key=lambda job: RANKS[job.health]) if sort == "health" else newest


async def listed(node: Node, tenant_id: int, wanted: JobFilter, limit: int) -> list[JobView]:
    """All pages. Each is full, or the last one."""
    found: list[JobView] = []
    cursor: str | None = None
    while True:
        page = await node.jobs.list(tenant_id, wanted, limit, cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found
        assert len(page.items) == limit, wanted


async def all_jobs(node: Node, connection: asyncpg.Connection, tenant_id: int) -> list[JobView]:
    rows = await connection.fetch("SELECT id FROM tickwork.job WHERE tenant_id = $1", tenant_id)
    return [await node.jobs.get(tenant_id, row["id"]) for row in rows]


async def check(node: Node, tenant_id: int, jobs: list[JobView], wanted: JobFilter) -> None:
    expected = [job for job in jobs if fits(job, wanted)]
    found = await listed(node, tenant_id, wanted, limit=max(5, len(expected) // 3))
    assert sorted(job.id for job in found) == sorted(job.id for job in expected), wanted
    if wanted.sort == "next_run_at":
        times = [job.next_run_at for job in found]
        assert times == sorted(times, key=lambda at: at or datetime.max.replace(tzinfo=UTC)), wanted
    else:
        assert [job.id for job in found] == [job.id for job in in_order(expected, wanted.sort)], wanted
    count = await PostgresJobSearch(node._database).count(tenant_id, wanted, "exact")
    assert count == JobCount(len(expected), "exact"), wanted


class World:
    """Jobs of two tenants that are created, changed, run, cancelled and deleted."""

    def __init__(self, node: Node, connection: asyncpg.Connection, clock: SettableClock, seed: int) -> None:
        self.node, self.connection, self.clock = node, connection, clock
        self.chance = random.Random(seed)  # noqa: S311 (the same in every run)
        self.index = PostgresJobIndex(
            node._database, wait_for=0, wait_at_most=timedelta(0), settle_after=timedelta(0)
        )
        self.workers: list[ScriptedWorker] = []
        self.number = 0

    async def create(self, tenant_id: int, count: int) -> None:
        jobs = []
        for _ in range(count):
            self.number += 1
            jobs.append(some_job(self.chance, self.number))
        await self.node.jobs.create(tenant_id, jobs)

    async def bring_up_to_date(self) -> None:
        while await self.index.index() > 1:
            pass
        while await self.index.settle():
            pass

    async def index_all(self) -> None:
        """Every new and every changed job."""
        while await self.connection.fetchval(
            """SELECT indexed_to < (SELECT last_value FROM tickwork.job_id) OR EXISTS (SELECT FROM tickwork.job_change)
               FROM tickwork.job_index"""
        ):
            await self.index.index()

    async def change(self, tenant_id: int) -> None:
        rows = await self.connection.fetch(
            "SELECT id FROM tickwork.job WHERE tenant_id = $1 AND status <> 'cancelled' ORDER BY id",
            tenant_id,
        )
        jobs, number = self.node.jobs, self.chance.choice(rows)["id"]
        job = await jobs.get(tenant_id, number)
        match self.chance.randrange(7):
            case 0 if job.status in (JobStatus.ACTIVE, JobStatus.PAUSED):
                await (jobs.pause if job.status is JobStatus.ACTIVE else jobs.resume)(tenant_id, number)
            case 1:
                await jobs.cancel(tenant_id, number)
            case 2:
                await jobs.patch(tenant_id, number, {"tags": self.chance.sample(TAGS, 2)})
            case 3:
                await jobs.patch(tenant_id, number, {"name": self.chance.choice(WORDS), "owner": None})
            case 4:
                await jobs.patch(tenant_id, number, {"queue": self.chance.choice(QUEUES), "priority": "low"})
            case 5 if job.execution_id is not None:
                await self.connection.execute("DELETE FROM tickwork.job WHERE id = $1", number)
            case 6 if job.next_run_at is not None and job.next_run_at > await self.node._read.now():
                schedules = ({"in": "40m"}, {"in": "5h"}) if job.execution_id else ("every 3h", "0 8 * * *")
                await jobs.patch(tenant_id, number, {"schedule": self.chance.choice(schedules)})

    async def redrive(self, tenant_id: int) -> None:
        """Some of what failed is to run again."""
        letters = await self.node.dead_letters.list(tenant_id, DeadLetterFilter(), 3)
        for letter in letters.items:
            await self.node.dead_letters.retry(tenant_id, *parse_execution_id(letter.id))

    async def run(self) -> None:
        """Time passes. Half of what is due is run, and of that some fails."""
        await self.clock.advance(timedelta(minutes=self.chance.randrange(5, 50)))
        for worker in self.workers:
            await worker.beat()
        while await self.node.step("fire") or await self.node.step("claim"):
            pass
        for worker in self.workers:
            for run in await worker.runs():
                outcome = self.chance.random()
                if outcome < 0.2:
                    await worker.fail(run, BROKEN)
                elif outcome < 0.8:
                    await worker.report(run, AttemptOutcome.COMPLETED, run_time=0.5)
        await self.node.step("number events")
        await self.node.step("read failing jobs")


@pytest.fixture
async def world(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection, request: pytest.FixtureRequest
) -> World:
    await connection.execute(
        "INSERT INTO tickwork.tenant (id, name, signing_secret) OVERRIDING SYSTEM VALUE VALUES (2, 'two', '')"
    )
    world = World(still_node, connection, clock, getattr(request, "param", 1))
    world.workers = [await ScriptedWorker.connect(still_node, TASKS, tenant_id=tenant) for tenant in (1, 2)]
    return world


@pytest.mark.parametrize("world", range(2), indirect=True)
async def test_a_search_finds_what_reading_every_job_would_find(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_next_run, "_SLICES", (5, 20))
    for turn in range(4):
        await world.create(1, 250)
        await world.create(OTHER_TENANT, 20)
        await world.run()
        if turn % 2:
            await world.bring_up_to_date()
        for _ in range(20):
            await world.change(1)
        await world.redrive(1)
        if turn == 2:
            monkeypatch.setattr(by_next_run, "_FEW", 0)  # now in order of time, not sorted
            await world.index.clean((0, -1))
        now = await world.node._read.now()
        for tenant_id, filters in ((1, 25), (OTHER_TENANT, 8)):
            jobs = await all_jobs(world.node, world.connection, tenant_id)
            for _ in range(filters):
                await check(world.node, tenant_id, jobs, some_filter(world.chance, now))
    assert await world.connection.fetchval("SELECT indexed_to FROM tickwork.job_index") > 500


@pytest.fixture
def ways_to_due_jobs(monkeypatch: pytest.MonkeyPatch) -> list[LikelyJobs]:
    """How searches for a range of next runs found their candidates, as they come."""
    ways: list[LikelyJobs] = []
    jobs = DueCandidates.jobs

    async def watched(candidates: DueCandidates) -> LikelyJobs:
        ways.append(await jobs(candidates))
        return ways[-1]

    monkeypatch.setattr(DueCandidates, "jobs", watched)
    return ways


def some_range(chance: random.Random, now: datetime) -> JobFilter:
    """Of a minute to ten hours, in the past or to come, alone or with another filter."""
    begin = now + timedelta(minutes=chance.randrange(-90, 300))
    more: dict[str, Any] = chance.choice(
        ({}, {"queue": "mail"}, {"tag": ("eu",)}, {"recurring": True}, {"recurring": False}, {"q": "report"})
    )
    return JobFilter(
        due_after=begin,
        due_before=begin + timedelta(minutes=chance.choice((1, 10, 60, 600))),
        sort=chance.choice(("-created_at", "created_at", "health")),
        **more,
    )


@pytest.mark.parametrize("way", ["listed", "indexed", "looked through"])
async def test_jobs_that_are_due_in_a_range_are_found_alike_in_every_way(
    world: World, monkeypatch: pytest.MonkeyPatch, ways_to_due_jobs: list[LikelyJobs], way: str
) -> None:
    if way != "listed":
        monkeypatch.setattr(jobs_due_between, "_FEW", 1)
    if way == "looked through":
        monkeypatch.setattr(jobs_due_between, "_MOST_HOURS", 0)
        monkeypatch.setattr(jobs_due_between, "_MOST_RULES", 0)
    for turn in range(4):
        await world.create(1, 150)
        await world.run()
        if turn:
            await world.bring_up_to_date()
        for _ in range(15):
            await world.change(1)
        now = await world.node._read.now()
        jobs = await all_jobs(world.node, world.connection, 1)
        for _ in range(12):
            await check(world.node, 1, jobs, some_range(world.chance, now))
    ways = {(found.listed is not None, found.indexed is not None) for found in ways_to_due_jobs}
    assert {"listed": (True, False), "indexed": (False, True), "looked through": (False, False)}[way] in ways


async def in_segments(world: World, segments: int, jobs: list[JobRequest]) -> list[JobView]:
    """The same jobs in each of some segments of ids, indexed."""
    made = []
    for segment in range(segments):
        await world.connection.execute(f"SELECT setval('tickwork.job_id', {segment * 65_536 + 9})")
        made += await world.node.jobs.create(1, jobs)
    await world.index_all()
    return made


async def test_jobs_of_many_segments_are_counted_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await in_segments(world, 12, [JobRequest(task="work", tags=["rare"]), JobRequest(task="work")])
    counted: list[int] = []
    count_existing = JobMatcher.count_existing

    async def watched(matcher: JobMatcher, jobs: list[int]) -> int:
        counted.append(len(jobs))
        return await count_existing(matcher, jobs)

    monkeypatch.setattr(JobMatcher, "count_existing", watched)
    await world.connection.execute("DELETE FROM tickwork.job WHERE id = 10")
    search = PostgresJobSearch(world.node._database)
    assert await search.count(1, JobFilter(tag=("rare",)), "exact") == JobCount(11, "exact")
    assert counted == [12]


async def test_an_hour_of_next_runs_is_found_in_every_segment_without_listing_it(
    world: World, monkeypatch: pytest.MonkeyPatch, ways_to_due_jobs: list[LikelyJobs]
) -> None:
    soon, later = (
        JobRequest(task="work", schedule={"in": "90m"}),
        JobRequest(task="work", schedule="every 9h"),
    )
    made = await in_segments(world, 3, [soon, later, JobRequest(task="work", schedule={"in": "30h"})])
    now = await world.node._read.now()
    monkeypatch.setattr(jobs_due_between, "_FEW", 1)
    wanted = JobFilter(due_after=now + timedelta(minutes=60), due_before=now + timedelta(minutes=130))
    found = await listed(world.node, 1, wanted, 2)
    assert [job.id for job in found] == [job.id for job in reversed(made[::3])]
    assert all(way.listed is None and way.indexed is not None for way in ways_to_due_jobs)


async def test_a_job_that_follows_another_to_a_new_rule_is_found_by_its_new_next_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (parent,) = await world.node.jobs.create(1, [JobRequest(task="work", schedule="every 1h")])
    (child,) = await world.node.jobs.create(1, [JobRequest(task="work", depends_on=[parent.id])])
    await world.index_all()
    await world.node.jobs.patch(1, parse_job_id(parent.id), {"schedule": "every 7h"})
    moved = await world.node.jobs.get(1, parse_job_id(child.id))
    monkeypatch.setattr(jobs_due_between, "_FEW", 1)
    at = moved.next_run_at
    assert at is not None
    wanted = JobFilter(due_after=at - timedelta(hours=1), due_before=at + timedelta(hours=1))
    for _ in range(2):
        found = await listed(world.node, 1, wanted, 5)
        assert [job.id for job in found] == [child.id, parent.id]
        await world.index_all()
