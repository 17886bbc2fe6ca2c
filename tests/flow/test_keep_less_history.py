"""Jobs, queues and tenants keep less of their history than the installation does, and lose nothing that is needed."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.dead_letter import DeadLetterChoice
from tickwork.model.errors import Invalid, NotFound
from tickwork.model.job import Dependency, JobRequest, RetryRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.model.queue import QueueSettings
from tickwork.model.retention import Retention
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.store import retention_store
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BROKEN = Failure("ValueError", "broken", "Traceback …")
ONCE = RetryRequest(max_attempts=1)
_DUE_TIMES = "SELECT scheduled_for FROM tickwork.execution WHERE job_id = $1 ORDER BY 1"


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"])


async def make(node: Node, **fields: Any) -> int:
    (made,) = await node.jobs.create(TENANT, [JobRequest(task="work", **fields)])
    return parse_job_id(made.id)


async def run_all(node: Node, worker: ScriptedWorker) -> None:
    await run_due(node)
    await worker.report_all(await worker.runs())


async def pass_hours(node: Node, clock: SettableClock, worker: ScriptedWorker, hours: int) -> None:
    for _ in range(hours):
        await later(clock, worker, HOUR)
        await run_all(node, worker)


async def apply(node: Node) -> None:
    while await node.step("number events") or await node.step("apply retention"):
        pass


async def apply_later(node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    """When what has ended by now did so long enough ago."""
    await later(clock, worker, timedelta(minutes=61))
    await apply(node)


async def kept(connection: asyncpg.Connection, job: int) -> list[datetime]:
    return [row["scheduled_for"] for row in await connection.fetch(_DUE_TIMES, job)]


async def is_known(node: Node, job: int) -> bool:
    try:
        await node.jobs.get(TENANT, job)
    except NotFound:
        return False
    return True


async def test_the_last_ones_of_a_job_stay_and_others_lose_nothing(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    short = await make(still_node, schedule="every 1h", retention=Retention(last=3))
    all_of_it = await make(still_node, schedule="every 1h")
    await pass_hours(still_node, clock, worker, 10)
    before = await kept(connection, short)
    await apply(still_node)
    assert await kept(connection, short) == before[-3:]
    assert await kept(connection, all_of_it) == before


async def test_what_ended_longer_ago_than_the_age_goes_but_never_the_latest(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 1h", retention=Retention(age="5h"))
    await pass_hours(still_node, clock, worker, 10)
    before = await kept(connection, job)
    await apply(still_node)
    assert await kept(connection, job) == before[-6:]
    await still_node.jobs.pause(TENANT, job)
    await later(clock, worker, 10 * DAY)
    await apply(still_node)
    assert await kept(connection, job) == before[-1:]
    told = await still_node.jobs.get(TENANT, job)
    assert told.last_run
    assert told.last_run.status == "completed"


async def test_both_limits_count(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 1h", retention=Retention(age="5h", last=2))
    await pass_hours(still_node, clock, worker, 8)
    await apply(still_node)
    assert len(await kept(connection, job)) == 2


async def test_what_ended_within_the_hour_stays(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 5m", retention=Retention(last=1))
    for _ in range(6):
        await later(clock, worker, timedelta(minutes=5))
        await run_all(still_node, worker)
    await apply(still_node)
    assert len(await kept(connection, job)) == 6
    await later(clock, worker, HOUR)
    await run_all(still_node, worker)
    await later(clock, worker, 2 * HOUR)
    await apply(still_node)
    assert len(await kept(connection, job)) == 1


@pytest.mark.parametrize(
    ("of_job", "of_queue", "of_tenant", "left"),
    [
        (Retention(last=6), Retention(last=3), Retention(last=2), 6),
        (None, Retention(last=3), Retention(last=2), 3),
        (None, None, Retention(last=2), 2),
        (None, None, None, 9),
    ],
)
async def test_the_most_specific_counts(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    of_job: Retention | None,
    of_queue: Retention | None,
    of_tenant: Retention | None,
    left: int,
) -> None:
    await still_node.queues.set(TENANT, "default", QueueSettings(retention=of_queue))
    await still_node.retention.set(TENANT, of_tenant or Retention())
    job = await make(still_node, schedule="every 1h", retention=of_job)
    await pass_hours(still_node, clock, worker, 9)
    await apply(still_node)
    assert len(await kept(connection, job)) == left


async def test_taking_a_retention_away_keeps_what_comes(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 1h", retention=Retention(last=1))
    await pass_hours(still_node, clock, worker, 3)
    await apply_later(still_node, clock, worker)
    await still_node.jobs.patch(TENANT, job, {"retention": None})
    await pass_hours(still_node, clock, worker, 5)
    await apply(still_node)
    assert len(await kept(connection, job)) == 6
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_retention") == 0


async def test_a_one_time_job_goes_with_its_execution_and_frees_its_key(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, key="welcome", retention=Retention(age="2h"))
    other = await make(still_node)
    await run_all(still_node, worker)
    await later(clock, worker, HOUR)
    await apply(still_node)
    assert await is_known(still_node, job)
    await later(clock, worker, 2 * HOUR)
    await apply(still_node)
    assert not await is_known(still_node, job)
    assert await is_known(still_node, other)
    assert await make(still_node, key="welcome") != job
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job_retention") == 0


async def test_the_last_ones_say_nothing_for_one_time_jobs(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    jobs = [await make(still_node, retention=Retention(last=1)) for _ in range(3)]
    await run_all(still_node, worker)
    await later(clock, worker, HOUR)
    await still_node.runs.run(TENANT, jobs[0])
    await run_all(still_node, worker)
    await later(clock, worker, 48 * HOUR)
    await apply(still_node)
    assert [await is_known(still_node, job) for job in jobs] == [True] * 3
    assert len(await kept(connection, jobs[0])) == 2


async def test_a_one_time_job_that_was_run_again_goes_after_that(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, retention=Retention(age="2h"))
    await run_all(still_node, worker)
    await later(clock, worker, 90 * timedelta(minutes=1))
    await still_node.runs.run(TENANT, job)
    await run_all(still_node, worker)
    await later(clock, worker, HOUR)
    await apply(still_node)
    assert len(await kept(connection, job)) == 2
    for _ in range(3):
        await later(clock, worker, HOUR)
        await apply(still_node)
    assert not await is_known(still_node, job)


async def test_what_has_not_ended_stays_and_goes_after_its_end(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(
        still_node, schedule="every 1h", overlap="allow", timeout="2d", retention=Retention(last=1)
    )
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (running,) = await worker.runs()
    await pass_hours(still_node, clock, worker, 4)
    await apply_later(still_node, clock, worker)
    assert len(await kept(connection, job)) == 2
    await worker.complete(running)
    await later(clock, worker, 2 * HOUR)
    await apply(still_node)
    assert len(await kept(connection, job)) == 1


async def test_one_that_was_skipped_for_another_stays_until_that_has_ended(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(
        still_node, schedule="every 1h", overlap="skip", timeout="2d", retention=Retention(last=1)
    )
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (running,) = await worker.runs()
    for _ in range(5):
        await later(clock, worker, HOUR)
        await run_due(still_node)
        await apply(still_node)
    assert not await worker.runs()
    assert len(await kept(connection, job)) == 6
    await worker.complete(running)
    await pass_hours(still_node, clock, worker, 2)
    await apply(still_node)
    assert len(await kept(connection, job)) <= 2


async def test_a_dead_letter_stays_until_it_is_discarded(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 1h", retry=ONCE, retention=Retention(last=1))
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.fail(run, BROKEN)
    (failed,) = await kept(connection, job)
    await pass_hours(still_node, clock, worker, 4)
    await apply_later(still_node, clock, worker)
    first, latest = await kept(connection, job)
    assert (first, latest) == (failed, failed + 4 * HOUR)
    await still_node.dead_letters.discard(TENANT, DeadLetterChoice())
    await later(clock, worker, HOUR)
    await apply(still_node)
    assert failed not in await kept(connection, job)


async def test_nothing_that_belongs_to_an_execution_is_left(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(
        still_node,
        schedule="every 1h",
        retry=RetryRequest(max_attempts=2, initial=1.0),
        retention=Retention(last=1),
    )
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.log(run, "line one")
    await worker.fail(run, BROKEN)
    await later(clock, worker, timedelta(seconds=5))
    await run_all(still_node, worker)
    (first,) = await kept(connection, job)
    statistics = "SELECT sum(failed) + sum(retried) FROM tickwork.statistic"
    await still_node.step("number events")
    counted = await connection.fetchval(statistics)
    await pass_hours(still_node, clock, worker, 3)
    await apply(still_node)
    for table in ("execution", "attempt", "log", "event"):
        rows = f"SELECT count(*) FROM tickwork.{table} WHERE job_id = $1 AND scheduled_for = $2"  # noqa: S608
        assert await connection.fetchval(rows, job, first) == 0, table
    assert await connection.fetchval(statistics) == counted > 0


async def test_a_parent_stays_while_a_child_has_yet_to_run(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    parent = await make(still_node, retention=Retention(age="1h"))
    (parent_view,) = [await still_node.jobs.get(TENANT, parent)]
    await make(still_node, queue="nobody", depends_on=[Dependency(parent_view.id)])
    await run_all(still_node, worker)
    await later(clock, worker, 3 * HOUR)
    await apply(still_node)
    assert len(await kept(connection, parent)) == 1


async def test_many_go_in_batches_and_a_second_pass_finds_nothing(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention_store, "_TIMES_OF_JOB", 4)
    monkeypatch.setattr(retention_store, "_DELETED_TOGETHER", 3)
    monkeypatch.setattr(retention_store, "_JOBS_TOGETHER", 2)
    jobs = [await make(still_node, schedule="every 1h", retention=Retention(last=2)) for _ in range(5)]
    await pass_hours(still_node, clock, worker, 12)
    await apply(still_node)
    for job in jobs:
        assert len(await kept(connection, job)) == 2
    marks = await connection.fetch("SELECT * FROM tickwork.retention_mark ORDER BY 1")
    await later(clock, worker, timedelta(minutes=11))
    await apply(still_node)
    assert await connection.fetch("SELECT * FROM tickwork.retention_mark ORDER BY 1") == marks


async def test_two_nodes_delete_together_and_a_redrive_wins_or_finds_nothing(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    jobs = [await make(still_node, schedule="every 1h", retention=Retention(last=2)) for _ in range(5)]
    await pass_hours(still_node, clock, worker, 8)
    first = (await kept(connection, jobs[0]))[0]
    retried = asyncio.gather(still_node.dead_letters.retry(TENANT, jobs[0], first), return_exceptions=True)
    steps = [still_node.step("apply retention") for _ in range(4)]
    await asyncio.gather(*steps)
    await retried
    await apply(still_node)
    for job in jobs[1:]:
        assert len(await kept(connection, job)) == 2
    assert len(await kept(connection, jobs[0])) in (2, 3)


async def test_a_node_that_dies_in_between_leaves_the_rest_to_the_next_pass(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention_store, "_TIMES_OF_JOB", 3)
    job = await make(still_node, schedule="every 1h", retention=Retention(last=1))
    await pass_hours(still_node, clock, worker, 9)
    while not await connection.fetchval("SELECT count(*) FROM tickwork.retention_mark"):
        await still_node.step("apply retention")
    still_node.retention._unfinished = ()  # what a node has in memory is lost with it
    await apply(still_node)
    assert len(await kept(connection, job)) > 1
    await later(clock, worker, timedelta(minutes=11))
    await apply(still_node)
    assert len(await kept(connection, job)) == 1


async def test_one_bad_row_stops_no_other_job(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    jobs = [await make(still_node, schedule="every 1h", retention=Retention(last=1)) for _ in range(4)]
    await pass_hours(still_node, clock, worker, 4)
    await connection.execute(f"""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken page'; END $$;
        CREATE TRIGGER refuse BEFORE DELETE ON tickwork.execution FOR EACH ROW
            WHEN (OLD.job_id = {jobs[1]}) EXECUTE FUNCTION refuse()""")
    await apply_later(still_node, clock, worker)
    assert [len(await kept(connection, job)) for job in jobs] == [1, 4, 1, 1]


async def test_a_backfill_is_whole_until_it_has_ended(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 1h", retention=Retention(age="10d"))
    await pass_hours(still_node, clock, worker, 3)
    await still_node.jobs.patch(TENANT, job, {"retention": {"last": 1}})
    times = await kept(connection, job)
    await connection.execute(
        """INSERT INTO tickwork.backfill
               (tenant_id, job_id, begin_at, end_at, times, max_active, run_order, policy, status)
           VALUES (1, $1, $2, $3, '{}', 1, 'oldest', 'missing', 'running')""",
        job, times[0], times[-1],
    )  # fmt: skip
    await later(clock, worker, 2 * HOUR)
    await apply(still_node)
    assert await kept(connection, job) == times
    await connection.execute("UPDATE tickwork.backfill SET status = 'completed', ended_at = tickwork.clock()")
    await later(clock, worker, HOUR)
    await apply(still_node)
    assert await kept(connection, job) == times[-1:]


async def test_nothing_is_looked_at_where_nobody_has_a_retention(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await make(still_node, schedule="every 1h")
    await pass_hours(still_node, clock, worker, 2)
    assert not await still_node.step("apply retention")
    place = await connection.fetchrow("SELECT tenant_id, job_id FROM tickwork.retention_pass")
    assert tuple(place) == (0, 0)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.retention_mark") == 0


@pytest.mark.parametrize("wrong", [Retention(), Retention(age="1m"), Retention(age="soon")])
async def test_a_retention_that_means_nothing_is_refused(still_node: Node, wrong: Retention) -> None:
    with pytest.raises(Invalid, match="retention"):
        await make(still_node, retention=wrong)
    with pytest.raises(Invalid, match="retention"):
        await still_node.queues.set(TENANT, "default", QueueSettings(retention=wrong))


async def test_a_tenant_is_told_what_it_keeps(still_node: Node) -> None:
    assert (await still_node.retention.get(TENANT)).history_days == 30
    set_ = await still_node.retention.set(TENANT, Retention(age="7d", last=10))
    assert (set_.age, set_.last) == (7 * 86_400, 10)
    with pytest.raises(Invalid, match="age"):
        await still_node.retention.set(TENANT, Retention(age="1s"))
    assert (await still_node.retention.set(TENANT, Retention())).age is None
