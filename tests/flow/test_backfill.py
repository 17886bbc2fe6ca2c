"""Due times of the past are run once each, in order, at the pace asked for, whatever happens to the nodes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.backfill import BackfillRequest, BackfillView
from tickwork.model.errors import Conflict, Invalid, Unavailable
from tickwork.model.execution import ExecutionFilter, ExecutionStatus, ExecutionView
from tickwork.model.job import JobRequest
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.store.backfill_store import PostgresBackfillStore
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT, JOB = 1, 1
HOUR = timedelta(hours=1)
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
FINAL = Failure("ValueError", "no good", retry=False)


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")])
    return worker


@pytest.fixture
async def other_node(worker: ScriptedWorker, settings: Settings) -> AsyncIterator[Node]:
    node = Node(settings)
    await node.open()
    yield node
    await node.stop()


def hours(first: int, last: int) -> list[datetime]:
    return [NOON - number * HOUR for number in range(first, last - 1, -1)]


async def start(node: Node, first: int, last: int = 1, **options: Any) -> BackfillView:
    """A backfill from so many hours before noon to so many hours before noon."""
    request = BackfillRequest(from_=NOON - first * HOUR, to=NOON - last * HOUR, **options)
    return await node.backfills.start(TENANT, JOB, request)


async def turn(node: Node) -> None:
    """Every backfill gets a turn, and what it made is handed out."""
    while await node.step("backfill"):
        pass
    while await node.step("claim"):
        pass


async def look(node: Node, backfill: BackfillView) -> BackfillView:
    (same,) = [each for each in (await node.backfills.list(TENANT, JOB, 500)).items if each.id == backfill.id]
    return same


async def executions(node: Node, **wanted: Any) -> list[ExecutionView]:
    """Oldest first."""
    return (await node.history.list(TENANT, ExecutionFilter(job=JOB, **wanted), 500)).items[::-1]


def times(runs: list[Run]) -> list[datetime]:
    return [datetime.fromtimestamp(run.at / 1e6, UTC) for run in runs]


async def complete_all(worker: ScriptedWorker) -> list[datetime]:
    """Complete what was handed over; for which times it was."""
    runs = await worker.runs()
    if runs:
        await worker.report_all(runs)
    return times(runs)


async def work_through(node: Node, worker: ScriptedWorker) -> list[list[datetime]]:
    """Complete all there is; what was run together."""
    rounds = []
    await turn(node)
    while done := await complete_all(worker):
        rounds.append(done)
        await turn(node)
    return rounds


@pytest.mark.parametrize(("order", "expected"), [("oldest", hours(5, 1)), ("newest", hours(5, 1)[::-1])])
async def test_runs_one_after_the_other_in_order(
    still_node: Node, worker: ScriptedWorker, order: str, expected: list[datetime]
) -> None:
    backfill = await start(still_node, 5, order=order)
    assert (backfill.status, backfill.total, backfill.made) == ("running", 5, 0)
    assert await work_through(still_node, worker) == [[at] for at in expected]
    made = await executions(still_node)
    assert [each.scheduled_for for each in made] == sorted(expected)
    assert {each.trigger for each in made} == {"backfill"}
    ended = await look(still_node, backfill)
    assert (ended.status, ended.completed, ended.ended_at) == ("completed", 5, NOON)


async def test_never_has_more_active_than_asked_for(still_node: Node, worker: ScriptedWorker) -> None:
    await start(still_node, 10, max_active=3)
    await turn(still_node)
    await turn(still_node)
    first = await worker.runs()
    assert times(first) == hours(10, 8)
    await worker.complete(first[1])
    await turn(still_node)
    second = await worker.runs()
    assert times(second) == hours(7, 7)
    await worker.report_all([first[0], first[2], second[0]])
    assert [len(each) for each in await work_through(still_node, worker)] == [3, 3]


async def test_hands_out_in_order_to_a_worker_with_room_for_one(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await worker.leave_silently()
    narrow = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    await start(still_node, 6, max_active=6, order="newest")
    assert await work_through(still_node, narrow) == [[at] for at in hours(6, 1)[::-1]]


async def test_tells_how_far_it_is(still_node: Node, worker: ScriptedWorker) -> None:
    backfill = await start(still_node, 4, max_active=2)
    await turn(still_node)
    good, bad = await worker.runs()
    at = await look(still_node, backfill)
    assert (at.total, at.made, at.active, at.completed, at.failed) == (4, 2, 2, 0, 0)
    await worker.complete(good)
    await worker.fail(bad, FINAL)
    await turn(still_node)
    at = await look(still_node, backfill)
    assert (at.total, at.made, at.active, at.completed, at.failed) == (4, 4, 2, 1, 1)


async def test_fills_only_what_is_missing(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    for _ in range(2):
        await later(clock, worker, HOUR)
        await run_due(still_node)
        await complete_all(worker)
    request = BackfillRequest(from_=NOON - HOUR, to=NOON + 2 * HOUR)
    assert (await still_node.backfills.start(TENANT, JOB, request)).total == 2
    assert await work_through(still_node, worker) == [[NOON - HOUR], [NOON]]
    again = await still_node.backfills.start(TENANT, JOB, request)
    assert (again.total, again.status, again.ended_at) == (0, "completed", NOON + 2 * HOUR)
    assert len(await executions(still_node)) == 4


async def test_runs_again_what_failed_or_was_skipped_when_asked_to(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (slow,) = await worker.runs()
    await later(clock, worker, HOUR)
    await run_due(still_node)
    await worker.fail(slow, FINAL)
    await later(clock, worker, HOUR)
    await run_due(still_node)
    await complete_all(worker)
    assert [each.status for each in await executions(still_node)] == ["failed", "skipped", "completed"]

    request = BackfillRequest(from_=NOON, to=NOON + 3 * HOUR, policy="failed")
    backfill = await still_node.backfills.start(TENANT, JOB, request)
    assert backfill.total == 3
    assert await work_through(still_node, worker) == [[NOON], [NOON + HOUR], [NOON + 2 * HOUR]]
    found = await executions(still_node)
    assert [(each.status, each.attempt, each.error, each.reason) for each in found] == [
        ("completed", 1, None, None), ("completed", 2, None, None), ("completed", 2, None, None),
        ("completed", 1, None, None),
    ]  # fmt: skip
    attempts = await still_node.history.attempts(TENANT, JOB, NOON + HOUR)
    assert [each.outcome for each in attempts] == ["failed", "completed"]


async def test_what_a_stale_worker_says_of_an_earlier_attempt_is_refused(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (before,) = await worker.runs()
    await worker.fail(before, FINAL)
    request = BackfillRequest(from_=NOON + HOUR, to=NOON + HOUR, policy="failed")
    await still_node.backfills.start(TENANT, JOB, request)
    await turn(still_node)
    await worker.complete(before)
    (execution,) = await executions(still_node)
    assert (execution.status, execution.attempt) == ("running", 2)


async def test_a_dry_run_counts_and_stores_nothing(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    request = BackfillRequest(from_=NOON - 9.5 * HOUR, to=NOON, order="newest")
    plan = await still_node.backfills.plan(TENANT, JOB, request)
    assert (plan.total, plan.first, plan.last) == (10, NOON - 9 * HOUR, NOON)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.backfill") == 0


async def test_cancelling_ends_what_waits_and_lets_go_on_what_runs(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await worker.leave_silently()
    narrow = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    backfill = await start(still_node, 5, max_active=3)
    await turn(still_node)
    (running,) = await narrow.runs()
    number = int(backfill.id[1:])
    cancelled = await still_node.backfills.cancel(TENANT, number)
    assert (cancelled.status, cancelled.made, cancelled.active, cancelled.ended_at) == (
        "cancelled",
        3,
        1,
        None,
    )
    assert [(each.status, each.reason) for each in await executions(still_node)] == [
        ("running", None), ("cancelled", "backfill cancelled"), ("cancelled", "backfill cancelled"),
    ]  # fmt: skip
    assert await still_node.backfills.cancel(TENANT, number) == cancelled
    await narrow.complete(running)
    assert await work_through(still_node, narrow) == []
    ended = await look(still_node, backfill)
    assert (ended.status, ended.completed, ended.active, ended.ended_at) == ("cancelled", 1, 0, NOON)


async def test_what_has_completed_cannot_be_cancelled(still_node: Node, worker: ScriptedWorker) -> None:
    backfill = await start(still_node, 1)
    await work_through(still_node, worker)
    with pytest.raises(Conflict, match="b1 has ended: it is completed"):
        await still_node.backfills.cancel(TENANT, int(backfill.id[1:]))


async def test_waits_while_its_job_is_paused(still_node: Node, worker: ScriptedWorker) -> None:
    backfill = await start(still_node, 3)
    await turn(still_node)
    await still_node.jobs.pause(TENANT, JOB)
    await complete_all(worker)
    assert await work_through(still_node, worker) == []
    assert (await look(still_node, backfill)).completed == 1
    await still_node.jobs.resume(TENANT, JOB)
    assert len(await work_through(still_node, worker)) == 2


async def test_ends_with_its_job(still_node: Node, worker: ScriptedWorker) -> None:
    backfill = await start(still_node, 3)
    await still_node.jobs.cancel(TENANT, JOB)
    assert await work_through(still_node, worker) == []
    assert (await look(still_node, backfill)).status == "cancelled"
    with pytest.raises(Conflict, match="j1 is cancelled"):
        await start(still_node, 3)


async def test_never_holds_up_the_schedule(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await start(still_node, 50, max_active=2)
    await turn(still_node)
    await later(clock, worker, HOUR)
    await run_due(still_node)
    newest = (await executions(still_node))[-1]
    assert (newest.scheduled_for, newest.status, newest.trigger) == (NOON + HOUR, "running", "schedule")


async def test_makes_room_for_times_long_past_and_keeps_them_as_long_as_others(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    """History is kept for 30 days: what is older goes into partitions of months, not into hundreds of days."""
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="0 9 * * *")])
    request = BackfillRequest(from_=NOON - timedelta(days=400), to=NOON, max_active=500)
    backfill = await still_node.backfills.start(TENANT, 2, request)
    assert backfill.total == 400
    runs = [at for together in await work_through(still_node, worker) for at in together]
    assert runs == [NOON - timedelta(days=days, hours=3) for days in range(399, -1, -1)]
    partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'tickwork.execution'::regclass"
    assert await connection.fetchval(partitions) <= 14 + 31 + 31 + 9

    await later(clock, worker, timedelta(days=29))
    await still_node.step("maintain partitions")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 400
    assert len((await still_node.history.list(TENANT, ExecutionFilter(job=2), 500)).items) == 400
    await later(clock, worker, timedelta(days=2))
    await still_node.step("maintain partitions")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 0
    assert await connection.fetchval("SELECT count(*) FROM tickwork.off_schedule_execution") == 0
    assert (await still_node.backfills.list(TENANT, 2, 10)).items == []


async def test_two_nodes_at_once_make_nothing_twice(
    still_node: Node, other_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    first = await start(still_node, 60, max_active=7)
    second = await start(other_node, 40, max_active=5, order="newest")
    seen: list[datetime] = []
    while "running" in {(await look(still_node, each)).status for each in (first, second)}:
        await asyncio.gather(*(node.step("backfill") for node in (still_node, other_node) * 3))
        active = await connection.fetchval(
            "SELECT count(*) FROM tickwork.execution WHERE finished_at IS NULL"
        )
        assert active <= 7 + 5
        while await still_node.step("claim"):
            pass
        seen += await complete_all(worker)
    assert sorted(seen) == hours(60, 1)


async def test_due_times_that_others_filled_meanwhile_are_passed_over_at_once(
    still_node: Node, worker: ScriptedWorker
) -> None:
    slow = await start(still_node, 30, order="newest")
    await start(still_node, 30, max_active=30)
    await turn(still_node)
    await complete_all(worker)
    await turn(still_node)
    await turn(still_node)
    at = await look(still_node, slow)
    assert (at.status, at.made, at.completed) == ("completed", 30, 1)


async def test_goes_on_after_a_node_died_between_two_steps(
    still_node: Node, other_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    backfill = await start(still_node, 3)
    make = PostgresBackfillStore._make

    async def make_and_die(*arguments: Any) -> None:
        await make(*arguments)
        raise Unavailable("killed before the commit")

    with monkeypatch.context() as patch:
        patch.setattr(PostgresBackfillStore, "_make", make_and_die)
        with pytest.raises(Unavailable):
            await still_node.step("backfill")
    assert await executions(other_node) == []
    for _ in range(4):
        await turn(other_node)
        while await still_node.step("claim"):
            pass
        await complete_all(worker)
    ended = await look(still_node, backfill)
    assert (ended.status, ended.completed) == ("completed", 3)


async def test_a_backfill_that_cannot_go_on_does_not_hold_up_the_others(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    broken, good = await start(still_node, 2), await start(still_node, 4, 3)
    await connection.execute("ALTER TABLE tickwork.off_schedule_execution ADD CHECK (backfill_id <> 1)")
    await still_node.step("backfill")
    await still_node.step("backfill")
    given_up, goes_on = await look(still_node, broken), await look(still_node, good)
    assert (given_up.status, given_up.made) == ("cancelled", 0)
    assert (goes_on.status, goes_on.made) == ("running", 1)


@pytest.mark.parametrize(
    ("first", "last", "path", "hint"),
    [
        (NOON - HOUR, NOON + HOUR, "to", f"use {NOON:%Y-%m-%dT%H:%M:%SZ} at most: the rest is still to come"),
        (NOON - HOUR, NOON - 2 * HOUR, "to", "swap them"),
        (NOON - timedelta(days=4000), NOON - timedelta(days=3999), "from", "begin later"),
        (NOON - 20_000 * HOUR, NOON, "to", "narrow the range: "),
    ],
)
async def test_a_range_that_cannot_be_filled_is_refused_with_the_way_out(
    still_node: Node, worker: ScriptedWorker, first: datetime, last: datetime, path: str, hint: str
) -> None:
    with pytest.raises(Invalid) as invalid:
        await still_node.backfills.start(TENANT, JOB, BackfillRequest(from_=first, to=last))
    (error,) = invalid.value.errors
    assert error.path == path
    assert error.hint.startswith(hint)


async def test_as_far_as_one_can_go_is_far_enough(still_node: Node, worker: ScriptedWorker) -> None:
    """What the refusal of a wide range proposes is accepted."""
    begin = NOON - 20_000 * HOUR
    with pytest.raises(Invalid) as invalid:
        await still_node.backfills.plan(TENANT, JOB, BackfillRequest(from_=begin, to=NOON))
    proposed = datetime.fromisoformat(invalid.value.errors[0].hint.split()[3])
    plan = await still_node.backfills.plan(TENANT, JOB, BackfillRequest(from_=begin, to=proposed))
    assert (plan.total, plan.first, plan.last) == (10_000, begin, proposed)


async def test_due_times_after_the_last_run_of_a_job_are_not_its_own(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule={"every": "1h", "max_runs": 2})])
    await later(clock, worker, 5 * HOUR)
    plan = await still_node.backfills.plan(TENANT, 2, BackfillRequest(from_=NOON, to=NOON + 5 * HOUR))
    assert (plan.total, plan.last) == (3, NOON + 2 * HOUR)


async def test_a_job_that_is_due_once_has_nothing_to_fill(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    with pytest.raises(Conflict, match="j2 is due only once"):
        await still_node.backfills.start(TENANT, 2, BackfillRequest(from_=NOON - HOUR, to=NOON))


async def test_an_ended_execution_stays_ended(still_node: Node, worker: ScriptedWorker) -> None:
    """A cancelled execution was stopped on purpose: neither policy runs it again."""
    await start(still_node, 1)
    await turn(still_node)
    await still_node.history.cancel(TENANT, JOB, NOON - HOUR)
    assert (await start(still_node, 1, policy="failed")).total == 0
    (execution,) = await executions(still_node, status=ExecutionStatus.CANCELLED)
    assert execution.scheduled_for == NOON - HOUR
