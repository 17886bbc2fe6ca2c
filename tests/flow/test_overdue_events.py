"""An execution that waits or runs for too long is told of once, while it does."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.backfill import BackfillRequest
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.stream_event import StreamEvent
from tickwork.model.worker_protocol import Claim, Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.fixture(autouse=True)
async def offered(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    await watch(still_node)  # from now on


async def told(node: Node, kind: str) -> list[StreamEvent]:
    """Its events of a kind so far."""
    while await node.step("number events"):
        pass
    store = node.event_feed._store
    numbered = await store.events_of(TENANT, 0, await store.last_number(), 500)
    return [each.event for each in numbered if each.event.kind == kind]


async def create(node: Node, **job: Any) -> str:
    (view,) = await node.jobs.create(TENANT, [JobRequest(task="work", **job)])
    return view.id


async def watch(node: Node) -> None:
    await node.step("tell late")
    await node.step("enforce time limits")


async def start(node: Node, worker: ScriptedWorker) -> Run:
    """An execution that the worker says it has started."""
    await run_due(node)
    (run,) = await worker.runs()
    await worker.beat([(Claim(run.tenant, run.at, run.job, run.attempt), run.at)])
    await node.step("record")
    return run


async def test_an_execution_that_waits_too_long_is_told_of_while_it_waits(
    still_node: Node, clock: SettableClock
) -> None:
    job = await create(still_node)
    await clock.advance(50 * SECOND)
    await watch(still_node)
    assert await told(still_node, "execution.late") == []
    await clock.advance(20 * SECOND)
    await watch(still_node)
    (late,) = await told(still_node, "execution.late")
    assert (late.job_id, late.detail["so_far"]) == (job, True)
    assert late.detail["start_delay"] == pytest.approx(70, abs=5)


async def test_what_was_told_while_it_waited_is_not_told_again(
    still_node: Node, clock: SettableClock, settings: Settings
) -> None:
    await create(still_node)
    for _ in range(5):
        await clock.advance(40 * SECOND)
        await watch(still_node)
    other = Node(settings)
    await other.open()
    await watch(other)
    await other.stop()
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.report(run, AttemptOutcome.COMPLETED, start_delay=200)
    assert len(await told(still_node, "execution.late")) == 1


async def test_what_became_late_while_no_node_ran_is_told_by_the_next_one(
    still_node: Node, clock: SettableClock
) -> None:
    await create(still_node)
    await watch(still_node)
    await clock.advance(90 * MINUTE)
    await watch(still_node)
    assert len(await told(still_node, "execution.late")) == 1


async def test_many_nodes_that_look_at_the_same_time_tell_once(
    still_node: Node, clock: SettableClock, settings: Settings
) -> None:
    others = [Node(settings) for _ in range(3)]
    for other in others:
        await other.open()
    await still_node.jobs.create(TENANT, [JobRequest(task="work")] * 50)
    await clock.advance(2 * MINUTE)
    await asyncio.gather(*(watch(node) for node in [still_node, *others] * 3))
    for other in others:
        await other.stop()
    late = await told(still_node, "execution.late")
    assert (len(late), len({each.execution_id for each in late})) == (50, 50)


async def test_a_retry_and_a_backfill_are_not_late(still_node: Node, clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await create(still_node)
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.fail(run, Failure("ValueError", "no"))
    await worker.leave_silently()
    job = await create(still_node, schedule="every 1m", key="filled")
    now = (await still_node.jobs.get(TENANT, 2)).created_at
    await still_node.jobs.pause(TENANT, 2)
    await still_node.backfills.start(
        TENANT, 2, BackfillRequest(from_=now - 30 * MINUTE, to=now - 20 * MINUTE)
    )
    while await still_node.step("backfill"):
        pass
    for _ in range(3):
        await clock.advance(2 * MINUTE)
        await watch(still_node)
    assert job == "j2"
    assert await told(still_node, "execution.late") == []


async def test_an_execution_that_runs_for_long_is_told_of_while_it_runs_and_once(
    still_node: Node, clock: SettableClock
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    job = await create(still_node, timeout="1h")
    run = await start(still_node, worker)
    await later(clock, worker, 4 * MINUTE)
    await watch(still_node)
    assert await told(still_node, "execution.slow") == []
    for _ in range(3):
        await later(clock, worker, 2 * MINUTE)
        await watch(still_node)
    (slow,) = await told(still_node, "execution.slow")
    assert (slow.job_id, slow.detail["so_far"]) == (job, True)
    assert slow.detail["run_time"] == pytest.approx(360, abs=5)
    await worker.report(run, AttemptOutcome.COMPLETED, run_time=600)
    assert len(await told(still_node, "execution.slow")) == 1


async def test_a_job_says_itself_from_when_on_it_is_slow(still_node: Node, clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    quick = await create(still_node, warn_after="30s")
    await start(still_node, worker)
    patient = await create(still_node, warn_after="20m", timeout="1h")
    run = await start(still_node, worker)
    for seconds in (20, 15, 30):
        await later(clock, worker, seconds * SECOND)
        await watch(still_node)
    (slow,) = await told(still_node, "execution.slow")
    assert (slow.job_id, slow.detail["so_far"]) == (quick, True)
    assert slow.detail["run_time"] == pytest.approx(35, abs=1)
    await later(clock, worker, 10 * MINUTE)
    await watch(still_node)
    of_patient = [each for each in await told(still_node, "execution.slow") if each.job_id == patient]
    assert of_patient == []
    await worker.report(run, AttemptOutcome.COMPLETED, run_time=660)
    of_patient = [each for each in await told(still_node, "execution.slow") if each.job_id == patient]
    assert [each.detail["expected"] for each in of_patient] == [
        True
    ]  # it can be found, and nobody is notified


async def test_each_attempt_that_becomes_slow_is_told_of_once(still_node: Node, clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await create(still_node, warn_after="30s")
    run = await start(still_node, worker)
    for _ in range(3):
        await later(clock, worker, 40 * SECOND)
        await watch(still_node)
    await worker.fail(run, Failure("ValueError", "no"))
    await later(clock, worker, 2 * SECOND)
    await run_due(still_node)
    (again,) = await worker.runs()
    at = again.not_before
    await worker.beat([(Claim(again.tenant, again.at, again.job, again.attempt), at)])
    await still_node.step("record")
    for _ in range(3):
        await later(clock, worker, 40 * SECOND)
        await watch(still_node)
    assert [each.attempt for each in await told(still_node, "execution.slow")] == [1, 2]


async def test_nodes_that_look_at_the_same_time_tell_of_a_slow_one_once(
    still_node: Node, clock: SettableClock, settings: Settings
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await create(still_node, warn_after="30s")
    await start(still_node, worker)
    await later(clock, worker, 40 * SECOND)
    others = [Node(settings) for _ in range(2)]
    for other in others:
        await other.open()
    await asyncio.gather(*(watch(node) for node in [still_node, *others] * 2))
    for other in others:
        await other.stop()
    assert len(await told(still_node, "execution.slow")) == 1


async def test_what_could_not_be_told_because_it_was_locked_is_told_later(
    still_node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await create(still_node, warn_after="30s")
    await start(still_node, worker)
    await later(clock, worker, 40 * SECOND)
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.execution FOR UPDATE")
        await watch(still_node)
    await later(clock, worker, 10 * SECOND)
    await watch(still_node)
    assert len(await told(still_node, "execution.slow")) == 1


async def test_what_ends_while_it_is_looked_at_is_told_once(
    still_node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    """The end holds the execution's lock while the watch looks: it passes over it."""
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await create(still_node, timeout="1h")
    run = await start(still_node, worker)
    await later(clock, worker, 10 * MINUTE)
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.execution FOR UPDATE")
        await watch(still_node)
    assert await told(still_node, "execution.slow") == []
    await worker.report(run, AttemptOutcome.COMPLETED, run_time=600)
    (slow,) = await told(still_node, "execution.slow")
    assert "so_far" not in slow.detail
