"""Deadlines: who starts first within a priority, and what is told before one is missed."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import from_micros, job_id, parse_execution_id
from tickwork.model.stream_event import StreamEvent
from tickwork.model.worker_protocol import Claim
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.fixture(autouse=True)
async def offered(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, ["work", "other"])


async def create(node: Node, **job: Any) -> str:
    (view,) = await node.jobs.create(TENANT, [JobRequest(**{"task": "work", **job})])
    return view.id


async def started_in_order(node: Node) -> list[str]:
    """The jobs, as a worker with one slot gets them."""
    worker = await ScriptedWorker.connect(node, ["work", "other"], credit=1)
    order = []
    while True:
        await run_due(node)
        runs = await worker.runs()
        if not runs:
            return order
        for run in runs:
            order.append(job_id(run.job))
            await worker.complete(run)


async def watch(node: Node) -> None:
    await node.step("tell endangered deadlines")


async def told(node: Node) -> list[StreamEvent]:
    while await node.step("number events"):
        pass
    store = node.event_feed._store
    numbered = await store.events_of(TENANT, 0, await store.last_number(), 500)
    return [each.event for each in numbered if each.event.kind == "deadline.endangered"]


async def test_the_earliest_deadline_starts_first_across_queues_and_tasks(still_node: Node) -> None:
    none = await create(still_node)
    evening = await create(still_node, deadline="18:00", queue="reports")
    hour = await create(still_node, deadline="1h", task="other")
    afternoon = await create(still_node, deadline="15:00")
    soon = await create(still_node, deadline="10m")
    assert await started_in_order(still_node) == [soon, hour, afternoon, evening, none]


async def test_priority_comes_first(still_node: Node) -> None:
    soon = await create(still_node, deadline="1m", priority="low")
    high = await create(still_node, deadline="2h", priority="high")
    critical = await create(still_node, priority="critical")
    assert await started_in_order(still_node) == [critical, high, soon]


async def test_what_was_due_earlier_has_the_earlier_deadline(still_node: Node, clock: SettableClock) -> None:
    first = await create(still_node, deadline="2h")
    await clock.advance(90 * MINUTE)
    second = await create(still_node, deadline="1h")
    third = await create(still_node, deadline="2h")
    assert await started_in_order(still_node) == [first, second, third]


async def test_a_job_that_waits_is_told_of_when_it_would_end_too_late(
    still_node: Node, clock: SettableClock
) -> None:
    """It usually takes four minutes."""
    worker = await ScriptedWorker.connect(still_node, ["work"])
    job = await create(still_node, schedule="every 1h", deadline="10m", timeout="20m")
    for _ in range(3):
        await later(clock, worker, 60 * MINUTE)
        await run_due(still_node)
        (run,) = await worker.runs()
        await later(clock, worker, 5 * MINUTE)
        await worker.report(run, AttemptOutcome.COMPLETED, run_time=240)
        await clock.advance(-5 * MINUTE)
    await worker.leave_silently()
    await clock.advance(60 * MINUTE)
    await run_due(still_node)
    await clock.advance(5 * MINUTE)
    await watch(still_node)
    assert await told(still_node) == []
    await clock.advance(2 * MINUTE)
    for _ in range(3):
        await watch(still_node)
    (event,) = await told(still_node)
    assert (event.job_id, event.detail["is_running"]) == (job, False)
    assert event.detail["usual_run_time"] == pytest.approx(240)
    assert event.detail["deadline"] < event.detail["expected_end"]


async def test_a_job_that_has_not_run_yet_is_told_of_at_its_deadline(
    still_node: Node, clock: SettableClock
) -> None:
    job = await create(still_node, deadline="10m")
    await clock.advance(9 * MINUTE)
    await watch(still_node)
    assert await told(still_node) == []
    await clock.advance(2 * MINUTE)
    await watch(still_node)
    assert [event.job_id for event in await told(still_node)] == [job]


async def test_what_runs_beyond_its_deadline_is_told_of(still_node: Node, clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await create(still_node, deadline="10m", timeout="1h")
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.beat([(Claim(run.tenant, run.at, run.job, run.attempt), run.at)])
    await still_node.step("record")
    await later(clock, worker, 11 * MINUTE)
    await watch(still_node)
    (event,) = await told(still_node)
    assert event.detail["is_running"] is True
    assert (await still_node.history.get(TENANT, run.job, from_micros(run.at))).status == "running"


async def test_what_ends_in_time_is_not_told_of(still_node: Node, clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await create(still_node, deadline="10m")
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.complete(run)
    await later(clock, worker, 11 * MINUTE)
    await watch(still_node)
    assert await told(still_node) == []


async def test_nodes_that_look_at_the_same_time_tell_once(
    still_node: Node, clock: SettableClock, settings: Settings
) -> None:
    for _ in range(10):
        await create(still_node, deadline="1m")
    await clock.advance(2 * MINUTE)
    others = [Node(settings) for _ in range(2)]
    for other in others:
        await other.open()
    await asyncio.gather(*(watch(node) for node in [still_node, *others] * 2))
    for other in others:
        await watch(other)
        await other.stop()
    events = await told(still_node)
    assert (len(events), len({each.execution_id for each in events})) == (10, 10)


async def test_why_names_the_deadline(still_node: Node, clock: SettableClock) -> None:
    (view,) = await still_node.jobs.create(TENANT, [JobRequest(task="work", deadline="13:00")])
    assert view.execution_id
    job, at = parse_execution_id(view.execution_id)
    why = await still_node.reasons.of(TENANT, job, at)
    assert why.deadline == at + 60 * MINUTE
    assert why.summary.endswith(f"Its deadline is {at + 60 * MINUTE:%Y-%m-%d %H:%M:%S} UTC.")
    await clock.advance(61 * MINUTE)
    why = await still_node.reasons.of(TENANT, job, at)
    assert why.summary.endswith("it is missed.")
