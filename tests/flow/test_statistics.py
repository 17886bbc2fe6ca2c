"""Statistics equal the history: whichever node counted, and although one was killed before it wrote what it had."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.model.statistics import StatisticsPoint, Step
from tickwork.model.worker_protocol import Failure, Outcome, Run
from tickwork.node import Node
from tickwork.record import recount_and_merge_statistics
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
BROKEN = Failure("ValueError", "no", None)

# What the history says about each minute. An attempt that was not the last one was followed by another.
_HISTORY = """
SELECT date_trunc('minute', at) AS at, sum(fired)::int AS fired, sum(started)::int AS started,
    sum(completed)::int AS completed, sum(failed)::int AS failed, sum(retried)::int AS retried, sum(lost)::int AS lost
FROM (
    SELECT scheduled_for AS at, 1 AS fired, 0 AS started, 0 AS completed, 0 AS failed, 0 AS retried, 0 AS lost
    FROM tickwork.execution WHERE trigger <> 'backfill' AND scheduled_for < tickwork.clock() - interval '2 minutes'
    UNION ALL
    SELECT started_at, 0, 1, 0, 0, 0, 0 FROM tickwork.execution WHERE status = 'completed'
    UNION ALL
    SELECT finished_at, 0, 0, 1, 0, 0, 0 FROM tickwork.execution WHERE status = 'completed'
    UNION ALL
    SELECT finished_at, 0, 0, 0, 1, 0, 0 FROM tickwork.execution WHERE status = 'failed'
    UNION ALL
    SELECT started_at, 0, 1, 0, 0, 0, 0 FROM tickwork.attempt WHERE outcome <> 'returned' AND started_at IS NOT NULL
    UNION ALL
    SELECT a.finished_at, 0, 0, 0, 0, (a.outcome = 'failed')::int, (a.outcome = 'lost')::int
    FROM tickwork.attempt a JOIN tickwork.execution e USING (tenant_id, scheduled_for, job_id)
    WHERE a.attempt < e.attempt
) fact
GROUP BY 1 ORDER BY 1
"""
_COUNTS = ("fired", "started", "completed", "failed", "retried", "lost")


@pytest.fixture
async def begun(clock: SettableClock, still_node: Node) -> Node:
    """Its statistics begin at noon."""
    await still_node.step("keep up statistics")
    return still_node


async def create(node: Node, **job: Any) -> str:
    (view,) = await node.jobs.create(TENANT, [JobRequest(task="work", **job)])
    return view.id


async def settle(clock: SettableClock, nodes: Sequence[Node]) -> None:
    """All nodes write what they have, some minutes pass, and everything is counted."""
    for passed in (MINUTE, MINUTE, MINUTE):
        for node in nodes:
            await node.step("write statistics")
        await clock.advance(passed)
    for node in nodes:
        await node.step("write statistics")
        while await node.step("number events"):
            pass
    for node in nodes:
        while await node.step("keep up statistics"):
            pass


async def series(node: Node, step: Step = "1m", **wanted: Any) -> list[StatisticsPoint]:
    """Of the last day."""
    now = await node.statistics._store.now()
    return (await node.statistics.series(TENANT, now - timedelta(days=1), now, step, **wanted)).items


def total(points: Sequence[StatisticsPoint], name: str) -> int:
    return sum(getattr(point, name) for point in points)


async def as_history(connection: asyncpg.Connection) -> list[tuple[Any, ...]]:
    rows = await connection.fetch(_HISTORY)
    return [(row["at"], *(row[name] for name in _COUNTS)) for row in rows if any(tuple(row)[1:])]


def as_counted(points: Sequence[StatisticsPoint]) -> list[tuple[Any, ...]]:
    return [(each.at, *(getattr(each, name) for name in _COUNTS)) for each in points]


async def test_a_completed_execution_is_fired_started_and_completed_in_its_minutes(
    begun: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await create(begun, schedule="every 20s")
    for _ in range(4):
        await later(clock, worker, 20 * SECOND)
        await run_due(begun)
        for run in await worker.runs():
            await worker.report(run, AttemptOutcome.COMPLETED, start_delay=0.01, run_time=45)
    await settle(clock, [begun])
    minutes = await series(begun)
    assert [(each.fired, each.started, each.completed) for each in minutes] == [
        (2, 2, 0),
        (2, 2, 3),
        (0, 0, 1),
    ]
    delay, took = minutes[0].start_delay, minutes[1].run_time
    assert delay is not None
    assert delay.p50 == pytest.approx(0.01, rel=0.15)
    assert took is not None
    assert took.p99 == pytest.approx(45, rel=0.15)
    assert minutes[0].rates.fired == pytest.approx(2 / 60)


async def kill(node: Node) -> None:
    """Its connections break, and what it had in memory is gone."""
    await node.gateway.close()
    await node._opened.aclose()


async def report_some(worker: ScriptedWorker, runs: Sequence[Run]) -> None:
    for number, run in enumerate(runs):
        if number % 3:
            await worker.report(run, AttemptOutcome.COMPLETED, start_delay=number / 100, run_time=number)
        else:
            await worker.fail(run, BROKEN)


async def test_totals_equal_the_history_after_a_node_was_killed_and_another_started(
    clock: SettableClock, nodes: list[Node], settings: Settings, connection: asyncpg.Connection
) -> None:
    await nodes[0].step("keep up statistics")
    workers = [await ScriptedWorker.connect(node, ["work"], credit=20) for node in nodes]
    for number in range(30):
        await create(
            nodes[0], schedule="every 10s", queue=f"q{number % 2}", retry=RetryRequest(max_attempts=2)
        )
    for _ in range(10):
        for node, worker in zip(nodes, workers, strict=True):
            await later(clock, worker, 3 * SECOND)
            await run_due(node)
            await report_some(worker, await worker.runs())
        for node in nodes[:2]:
            await node.step("write statistics")
    await nodes[2].step("write statistics")
    for _ in range(5):
        for node, worker in zip(nodes, workers, strict=True):
            await later(clock, worker, 4 * SECOND)
            await run_due(node)
            await report_some(worker, await worker.runs())
    counted_by_killed = sum(each.completed for each in nodes[2]._statistics_counter._minutes.values())
    await kill(nodes[2])
    nodes[2] = Node(settings)
    await nodes[2].open()
    await settle(clock, nodes)
    assert counted_by_killed > 0
    assert await connection.fetchval("SELECT count(*) FROM tickwork.statistic_recounted") > 0
    assert as_counted(await series(nodes[0])) == await as_history(connection)


async def test_a_node_that_was_taken_for_dead_adds_nothing_twice(
    begun: Node, worker: ScriptedWorker, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await create(begun, schedule="every 20s")
    await begun.step("write statistics")
    for _ in range(6):
        await later(clock, worker, 20 * SECOND)
        await run_due(begun)
        await worker.report_all(await worker.runs())
    await clock.advance(MINUTE)
    while await begun.step("keep up statistics"):
        pass
    assert await connection.fetchval("SELECT count(*) FROM tickwork.statistic_writer") == 0
    await settle(clock, [begun])
    assert total(await series(begun), "completed") == 6
    assert as_counted(await series(begun)) == await as_history(connection)


async def test_a_write_whose_answer_was_lost_takes_effect_once(
    begun: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await create(begun)
    await run_due(begun)
    await worker.report_all(await worker.runs())
    counter = begun._statistics_counter
    store = counter._store
    writer, write = await store.add_writer(), counter._take()
    await store.write(writer, write)
    await store.write(writer, write)
    assert await connection.fetchval("SELECT sum(completed) FROM tickwork.statistic") == 1


async def test_an_outcome_that_is_reported_twice_counts_once(
    begun: Node, worker: ScriptedWorker, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await create(begun)
    await run_due(begun)
    (run,) = await worker.runs()
    await worker.report_all([run])
    (row,) = await connection.fetch(
        "SELECT worker_id, lane_id FROM tickwork.execution WHERE status = 'completed'"
    )
    again = Outcome(run.tenant, run.at, run.job, run.attempt, AttemptOutcome.COMPLETED, run.at, run.at + 1)
    begun._recorder.submit(row["worker_id"], [again], [row["lane_id"]], [], lambda: None)
    await begun.step("record")
    await settle(clock, [begun])
    assert await connection.fetchval("SELECT count(*) FROM tickwork.statistic_recounted") > 0
    assert total(await series(begun), "completed") == 1


async def test_what_completes_long_after_its_due_time_is_counted_with_its_transaction(
    begun: Node, worker: ScriptedWorker, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await create(begun)
    await run_due(begun)
    for run in await worker.runs():
        await later(clock, worker, 10 * SECOND)
        await worker.report(run, AttemptOutcome.COMPLETED, start_delay=100, run_time=400)
    assert begun._statistics_counter._minutes == {}
    await clock.advance(10 * MINUTE)
    await settle(clock, [begun])
    assert as_counted(await series(begun)) == await as_history(connection)
    delays = [each.start_delay for each in await series(begun) if each.start_delay]
    assert [delay.p50 for delay in delays] == pytest.approx([100], rel=0.15)


async def test_what_does_not_complete_is_counted_by_what_happened(
    begun: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await create(begun, key="a", queue="small", retry=RetryRequest(max_attempts=2, initial="1s", jitter=0))
    await run_due(begun)
    await worker.fail((await worker.runs())[0], BROKEN)
    await later(clock, worker, 2 * SECOND)
    await run_due(begun)
    await worker.fail((await worker.runs())[0], BROKEN)
    await create(begun, key="b")
    await run_due(begun)
    await worker.report((await worker.runs())[0], AttemptOutcome.SNOOZED, snooze=3600.0)
    await create(begun, key="c", schedule="every 10s")
    for _ in range(2):  # the second is due while the first still runs
        await later(clock, worker, 10 * SECOND)
        await run_due(begun)
    await begun.jobs.cancel(TENANT, (await worker.runs())[0].job)
    await settle(clock, [begun])
    points = await series(begun)
    for name, number in {"failed": 1, "retried": 1, "snoozed": 1, "skipped": 1, "completed": 0}.items():
        assert total(points, name) == number, name
    assert [each.skipped_by_reason for each in points if each.skipped] == [{"overlap": 1}]
    by_queue = await series(begun, "1h", by="queue")
    assert [(each.queue, each.failed, each.started) for each in by_queue] == [
        ("default", 0, 1),
        ("small", 1, 2),
    ]


async def test_executions_that_are_created_long_after_their_due_times_are_counted_there(
    begun: Node, worker: ScriptedWorker, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await create(begun, schedule="every 1m", catch_up=CatchUp(policy="all"), overlap="allow")
    await clock.advance(10 * MINUTE)
    while await begun.step("keep up statistics"):
        pass
    assert await series(begun) == []
    await run_due(begun)
    await settle(clock, [begun])
    assert total(await series(begun), "fired") == 10
    assert as_counted(await series(begun)) == await as_history(connection)


async def test_minutes_are_merged_into_hours_and_days_and_merged_again_when_they_get_more(
    begun: Node, worker: ScriptedWorker, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await create(begun)
    await run_due(begun)
    (late,) = await worker.runs()
    await create(begun)
    await run_due(begun)
    await worker.report_all(await worker.runs())
    for _ in range(2):
        await begun.step("write statistics")
        await later(clock, worker, 10 * SECOND)
    await clock.advance(20 * HOUR)
    while await begun.step("keep up statistics"):
        pass
    assert await connection.fetchval("SELECT sum(completed) FROM tickwork.statistic WHERE span = 'hour'") == 1
    assert await connection.fetchval("SELECT sum(completed) FROM tickwork.statistic WHERE span = 'day'") == 1
    await clock.advance(-20 * HOUR)
    await worker.report(late, AttemptOutcome.COMPLETED, run_time=300)
    await clock.advance(20 * HOUR)
    await connection.execute(
        "INSERT INTO tickwork.statistic_remerge (at) SELECT at FROM tickwork.statistic LIMIT 1"
    )
    await clock.advance(10 * MINUTE)
    while await begun.step("keep up statistics"):
        pass
    for span in ("minute", "hour", "day"):
        sums = await connection.fetchrow(
            "SELECT sum(completed)::int, sum(started)::int, sum(fired)::int FROM tickwork.statistic WHERE span = $1",
            span,
        )
        assert tuple(sums) == (2, 2, 2), span
    for step in ("1m", "1h", "1d"):
        assert total(await series(begun, step), "completed") == 2


async def test_of_a_job_its_own_executions_are_counted(
    begun: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    job = parse_job_id(await create(begun, schedule="every 30s"))
    await create(begun, schedule="every 10s")
    for _ in range(4):
        await later(clock, worker, 30 * SECOND)
        await run_due(begun)
        await worker.report_all(await worker.runs())
    points = await series(begun, job=job)
    assert [(each.fired, each.started, each.completed) for each in points] == [(1, 1, 1), (2, 2, 2)]
    assert points[0].run_time is not None


async def test_what_rules_fire_is_counted_without_reading_executions(
    begun: Node, worker: ScriptedWorker, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    for queue in ("a", "a", "b"):
        await create(begun, schedule="every 20s", queue=queue)
    for _ in range(4):
        await later(clock, worker, 20 * SECOND)
        await run_due(begun)
        await worker.report_all(await worker.runs())
    await begun.step("write statistics")
    assert total(await series(begun), "fired") == 12
    assert await connection.fetchval("SELECT count(*) FROM tickwork.fired_to_count") == 0
    await settle(clock, [begun])
    assert [(each.queue, each.fired) for each in await series(begun, "1h", by="queue")] == [
        ("a", 8),
        ("b", 4),
    ]
    assert as_counted(await series(begun)) == await as_history(connection)
    sources = await connection.fetch("SELECT DISTINCT source::text FROM tickwork.statistic WHERE fired > 0")
    assert [row["source"] for row in sources] == ["memory"]


async def test_what_is_fired_in_other_ways_counts_once_beside_what_rules_fire(
    begun: Node, worker: ScriptedWorker, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    recurring = parse_job_id(await create(begun, schedule="every 20s", ref="a"))
    parent = JobRequest(task="work", schedule="every 30s", ref="parent")
    await begun.jobs.create(TENANT, [parent, JobRequest(task="work", depends_on=["@parent"])])
    soon = await begun.statistics._store.now() + 90 * SECOND
    await create(begun, schedule={"at": soon.isoformat()})
    stopped = parse_job_id(await create(begun, schedule={"at": soon.isoformat()}))
    await begun.jobs.cancel(TENANT, stopped)
    for number in range(12):
        await later(clock, worker, 10 * SECOND)
        await run_due(begun)
        if number % 3 == 0:
            await begun.runs.run(TENANT, recurring, "allow")
            await begun.step("write statistics")
        await run_due(begun)
        await worker.report_all(await worker.runs())
    await settle(clock, [begun])
    history = await connection.fetchval(
        "SELECT count(*) FROM tickwork.execution WHERE scheduled_for < $1 AND status <> 'cancelled'",
        soon + 30 * SECOND,
    )
    fired_before = [each for each in await series(begun) if each.at < soon + 30 * SECOND]
    assert total(fired_before, "fired") == history
    assert total(fired_before, "fired") > 15


async def test_a_recount_reads_a_slice_at_a_time_and_equals_the_history(
    begun: Node,
    worker: ScriptedWorker,
    clock: SettableClock,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recount_and_merge_statistics, "_SLICE", 4)
    for number in range(7):
        await create(begun, schedule="every 20s", queue=f"q{number % 2}")
    for _ in range(4):
        await later(clock, worker, 20 * SECOND)
        await run_due(begun)
        await worker.report_all(await worker.runs())
    await settle(clock, [begun])
    before = as_counted(await series(begun))
    assert before == await as_history(connection)
    await connection.execute(
        "INSERT INTO tickwork.statistic_recount (at) SELECT DISTINCT at FROM tickwork.statistic"
    )
    steps = 0
    while await begun.step("keep up statistics"):
        steps += 1
    assert steps > 4 * 7 / 4
    assert as_counted(await series(begun)) == before
    assert (
        await connection.fetchval("SELECT count(*) FROM tickwork.statistic_recounted WHERE NOT is_counted")
        == 0
    )


async def test_a_recount_whose_node_was_killed_is_done_by_another(
    clock: SettableClock,
    nodes: list[Node],
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recount_and_merge_statistics, "_SLICE", 2)
    await nodes[0].step("keep up statistics")
    worker = await ScriptedWorker.connect(nodes[1], ["work"], credit=20)
    for _ in range(5):
        await create(nodes[1], schedule="every 20s")
    for _ in range(3):
        await later(clock, worker, 20 * SECOND)
        await run_due(nodes[1])
        await worker.report_all(await worker.runs())
    await settle(clock, nodes[1:])
    await connection.execute(
        "INSERT INTO tickwork.statistic_recount (at) SELECT DISTINCT at FROM tickwork.statistic"
    )
    await nodes[0].step("keep up statistics")
    await nodes[0].step("keep up statistics")
    await kill(nodes[0])
    assert not await nodes[1].step("keep up statistics")  # the claim of the killed node lasts
    await settle(clock, nodes[1:])
    assert (
        await connection.fetchval("SELECT count(*) FROM tickwork.statistic_recounted WHERE NOT is_counted")
        == 0
    )
    assert as_counted(await series(nodes[1])) == await as_history(connection)
