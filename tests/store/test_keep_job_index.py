"""Keeping the index of jobs: by any node, one at a time, without passing over what commits late."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import asyncpg
import pytest

from tickwork.config import Settings
from tickwork.model.job import JobRequest
from tickwork.model.job_filter import JobFilter
from tickwork.node import Node
from tickwork.store.job_index.write_index import PostgresJobIndex
from tickwork.store.job_search.check_found_jobs import JobMatcher
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
BLOCK = 1024  # ids whose times of creation are kept together
TAGGED = JobRequest(task="work", tags=["x"])


@pytest.fixture
async def index(clock: SettableClock, still_node: Node) -> PostgresJobIndex:
    await ScriptedWorker.offer_only(still_node, tasks=["work"])
    return PostgresJobIndex(still_node._database, wait_for=1, settle_after=timedelta(0))


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that searches read and check, as they come."""
    seen: list[int] = []
    among = JobMatcher.among

    async def watched(
        matcher: JobMatcher, jobs: Sequence[int], limit: int | None = None
    ) -> list[asyncpg.Record]:
        seen.extend(jobs)
        return await among(matcher, jobs, limit)

    monkeypatch.setattr(JobMatcher, "among", watched)
    return seen


@pytest.fixture
async def other_node(clock: SettableClock, settings: Settings) -> AsyncIterator[Node]:
    node = Node(settings)
    await node.open()
    yield node
    await node.stop()


async def keep_up(index: PostgresJobIndex) -> None:
    while await index.index() or await index.settle():
        pass


async def found(node: Node, **wanted: object) -> list[str]:
    page = await node.jobs.list(TENANT, JobFilter(**wanted), 500)  # type: ignore[arg-type]
    return [job.id for job in page.items]


async def test_a_job_that_commits_after_later_ones_is_not_passed_over(
    index: PostgresJobIndex, still_node: Node, other_node: Node, connection: asyncpg.Connection
) -> None:
    (first,) = await still_node.jobs.create(TENANT, [TAGGED])
    async with other_node._database.transaction():
        (late,) = await other_node.jobs.create(TENANT, [TAGGED])
        (early,) = await still_node.jobs.create(TENANT, [TAGGED])
        await keep_up(index)
        assert await connection.fetchval("SELECT indexed_to FROM tickwork.job_index") == 0
    await keep_up(index)
    assert await connection.fetchval("SELECT indexed_to FROM tickwork.job_index") == 3
    assert await found(still_node, tag=("x",)) == [early.id, late.id, first.id]


async def test_the_first_job_of_all_is_found_though_the_index_was_kept_before_it(
    index: PostgresJobIndex, still_node: Node, clock: SettableClock
) -> None:
    """The sequence of ids says 1 before it was used and after it was used once."""
    await clock.advance(timedelta(minutes=2))  # so that the index looks, though there is nothing new
    await keep_up(index)
    (first,) = await still_node.jobs.create(TENANT, [TAGGED])
    assert await found(still_node, task="work") == [first.id]
    (second,) = await still_node.jobs.create(TENANT, [TAGGED])
    await keep_up(index)
    assert await found(still_node, task="work") == [second.id, first.id]


async def test_one_node_at_a_time_writes_the_index(
    index: PostgresJobIndex, still_node: Node, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.create(TENANT, [TAGGED])
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.job_index FOR UPDATE")
        assert (await index.index(), await index.settle(), await index.clean((0, -1))) == (0, 0, None)
    await keep_up(index)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_term") > 0


async def test_a_step_that_was_rolled_back_is_repeated_without_a_trace(
    index: PostgresJobIndex, still_node: Node, connection: asyncpg.Connection
) -> None:
    class Killed(Exception):
        pass

    async def index_and_be_killed() -> None:
        async with still_node._database.transaction():
            await keep_up(index)
            raise Killed

    await still_node.jobs.create(TENANT, [TAGGED] * 40)
    for _ in range(3):
        with pytest.raises(Killed):
            await index_and_be_killed()
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_term") == 0
    await keep_up(index)
    assert len(await found(still_node, tag=("x",))) == 40


async def test_a_tag_that_goes_from_few_jobs_to_many_is_found_at_every_step(
    index: PostgresJobIndex, still_node: Node
) -> None:
    """It moves from the row that it shares into one of its own."""
    for count in (1, 10, 31, 5, 40, 1):
        before = await found(still_node, tag=("x",))
        await still_node.jobs.create(TENANT, [TAGGED, JobRequest(task="work")] * count)
        await keep_up(index)
        assert len(await found(still_node, tag=("x",))) == len(before) + count


async def test_jobs_that_were_deleted_leave_the_index(
    index: PostgresJobIndex, still_node: Node, connection: asyncpg.Connection
) -> None:
    jobs = await still_node.jobs.create(TENANT, [TAGGED] * 50)
    await keep_up(index)
    await connection.execute("DELETE FROM tickwork.job WHERE id > 5")
    assert await found(still_node, tag=("x",)) == [job.id for job in jobs[4::-1]]
    estimate = await still_node.jobs.list(TENANT, JobFilter(tag=("x",)), 1, count="estimate")
    assert estimate.count is not None
    assert estimate.count.value == 5
    assert await index.clean((0, -1)) == (TENANT, 0)
    assert await found(still_node, tag=("x",)) == [job.id for job in jobs[4::-1]]
    await connection.execute("DELETE FROM tickwork.job")
    assert await index.clean((0, -1)) == (TENANT, 0)
    assert await index.clean((0, -1)) is None
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_term") == 0


async def test_a_job_that_the_index_misses_gets_into_it(
    index: PostgresJobIndex, still_node: Node, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.create(TENANT, [TAGGED])
    await keep_up(index)
    (missed,) = await still_node.jobs.create(TENANT, [TAGGED])
    await connection.execute("UPDATE tickwork.job_index SET indexed_to = 2")
    assert missed.id not in await found(still_node, tag=("x",))
    await index.clean((0, -1))
    assert missed.id in await found(still_node, tag=("x",))
    await keep_up(index)
    assert missed.id in await found(still_node, tag=("x",))


async def test_a_job_that_the_index_misses_is_found_by_when_it_was_created(
    index: PostgresJobIndex, still_node: Node, connection: asyncpg.Connection, clock: SettableClock
) -> None:
    await still_node.jobs.create(TENANT, [TAGGED])
    await keep_up(index)
    await clock.advance(timedelta(hours=1))
    (missed,) = await still_node.jobs.create(TENANT, [TAGGED])
    await connection.execute("UPDATE tickwork.job_index SET indexed_to = 2")
    since = missed.created_at - timedelta(minutes=1)
    assert await found(still_node, created_after=since) == []
    await index.clean((0, -1))
    assert await found(still_node, created_after=since) == [missed.id]
    await keep_up(index)
    assert await found(still_node, created_after=since) == [missed.id]


async def test_new_jobs_wait_until_there_are_many_or_they_are_old(
    index: PostgresJobIndex, still_node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    patient = PostgresJobIndex(still_node._database)
    await keep_up(patient)
    (job,) = await still_node.jobs.create(TENANT, [TAGGED])
    await keep_up(patient)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_term") == 0
    assert await found(still_node, tag=("x",)) == [job.id]
    await clock.advance(timedelta(minutes=2))
    await keep_up(patient)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_term") > 0
    assert await found(still_node, tag=("x",)) == [job.id]


async def test_only_jobs_of_the_blocks_that_were_created_in_a_range_are_looked_at(
    index: PostgresJobIndex, still_node: Node, clock: SettableClock, looked_at: list[int]
) -> None:
    (*_, last) = await still_node.jobs.create(TENANT, [TAGGED] * 1100)
    await clock.advance(timedelta(hours=1))
    await still_node.jobs.create(TENANT, [TAGGED] * 1100)
    await keep_up(index)
    between = last.created_at + timedelta(minutes=30)
    assert len(await found(still_node, created_before=between)) == 500
    assert max(looked_at) < 2 * BLOCK
    looked_at.clear()
    assert len(await found(still_node, created_after=between, sort="created_at")) == 500
    assert BLOCK <= min(looked_at) < max(looked_at) < 2200
    looked_at.clear()
    assert await found(still_node, created_after=between + timedelta(hours=1)) == []
    assert looked_at == []


async def test_pages_end_while_jobs_are_indexed_between_them(
    index: PostgresJobIndex, still_node: Node
) -> None:
    jobs = await still_node.jobs.create(TENANT, [TAGGED] * 9)
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        page = await still_node.jobs.list(TENANT, JobFilter(tag=("x",)), 3, cursor)
        seen += [job.id for job in page.items]
        cursor = page.next_cursor
        await still_node.jobs.create(TENANT, [TAGGED])
        await keep_up(index)
    assert seen == [job.id for job in reversed(jobs)]


async def test_looks_at_one_time_jobs_when_most_have_ended(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    await ScriptedWorker.offer_only(still_node, tasks=["work"])
    index = PostgresJobIndex(still_node._database, wait_for=1, settle_after=timedelta(seconds=5))
    await still_node.jobs.create_one(TENANT, TAGGED)
    await clock.advance(timedelta(seconds=1))
    await keep_up(index)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_unended") == 0
    await clock.advance(timedelta(minutes=2))
    await keep_up(index)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_unended") == 1
