"""The more urgent go first when workers are short, and nobody waits for ever."""

from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import later, run_due
from tickwork.dispatch.claim_order import AGED
from tickwork.model.job import PRIORITIES, JobRequest, Priority
from tickwork.model.worker_protocol import Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_LONG = timedelta(seconds=AGED + 1)


@pytest.fixture
async def narrow(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    """A worker that takes one at a time."""
    return await ScriptedWorker.connect(still_node, ["work"], credit=1)


async def _submit(node: Node, *priorities: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", priority=each) for each in priorities])


async def _one_by_one(node: Node, worker: ScriptedWorker, count: int) -> list[Priority]:
    """The priorities of the next ones, each completed before the next is handed out."""
    order: list[Priority] = []
    for _ in range(count):
        await node.step("claim")
        (run,) = await worker.runs()
        order.append(PRIORITIES[run.priority])
        await worker.complete(run)
    return order


async def test_the_more_urgent_go_first(still_node: Node, narrow: ScriptedWorker) -> None:
    await _submit(still_node, "low", "normal", "critical", "high", "low", "critical")
    order = await _one_by_one(still_node, narrow, 6)
    assert order == ["critical", "critical", "high", "normal", "low", "low"]


async def test_urgency_counts_across_queues_and_tasks(clock: SettableClock, still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["a", "b"], credit=1)
    jobs = [
        JobRequest(task="a", queue="slow", priority="low"),
        JobRequest(task="b", queue="fast", priority="critical"),
        JobRequest(task="a", queue="fast", priority="high"),
    ]
    await still_node.jobs.create(TENANT, jobs)
    assert await _one_by_one(still_node, worker, 3) == ["critical", "high", "low"]


async def test_one_place_in_ten_is_for_those_that_have_waited_long(
    still_node: Node, clock: SettableClock, narrow: ScriptedWorker
) -> None:
    await _submit(still_node, *["low"] * 5)
    await later(clock, narrow, _LONG)
    await _submit(still_node, *["critical"] * 50)
    order = await _one_by_one(still_node, narrow, 50)
    assert 4 <= order.count("low") <= 5
    assert order[:9] == ["critical"] * 9


async def test_those_that_have_waited_long_get_the_same_share_of_many_places(
    clock: SettableClock, still_node: Node
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    await _submit(still_node, *["low"] * 300)
    await clock.advance(_LONG)
    await _submit(still_node, *["critical"] * 300)
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=200)
    runs = await worker.runs()
    assert len(runs) == 200
    assert 15 <= _count(runs, "low") <= 25


async def test_without_anything_urgent_the_others_have_all_places(
    still_node: Node, narrow: ScriptedWorker
) -> None:
    await _submit(still_node, "low", "low", "low")
    assert await _one_by_one(still_node, narrow, 3) == ["low"] * 3


async def test_what_is_fired_does_not_pass_what_has_been_waiting(
    still_node: Node, clock: SettableClock, narrow: ScriptedWorker
) -> None:
    await _submit(still_node, "normal", "normal")
    await run_due(still_node)
    (first,) = await narrow.runs()
    rule = JobRequest(task="work", schedule="every 10s", priority="normal", overlap="allow")
    await still_node.jobs.create(TENANT, [rule])
    await later(clock, narrow, timedelta(seconds=10))
    await narrow.beat()
    await narrow.complete(first)
    await still_node.step("claim")
    (second,) = await narrow.runs()
    await _submit(still_node, "normal")
    await later(clock, narrow, timedelta(seconds=1))
    await narrow.complete(second)
    await later(clock, narrow, timedelta(seconds=9))
    waiting_longer = await _next(still_node, narrow)
    assert waiting_longer.at < first.at + 10_000_000 + 1_000_000


async def test_what_is_fired_goes_at_once_when_it_is_more_urgent(
    still_node: Node, clock: SettableClock
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=2)
    await _submit(still_node, *["low"] * 4)
    await run_due(still_node)
    first, _ = await worker.runs()
    await still_node.jobs.create(
        TENANT, [JobRequest(task="work", schedule="every 10s", priority="critical", overlap="allow")]
    )
    await later(clock, worker, timedelta(seconds=10))
    await worker.complete(first)
    await run_due(still_node)
    (urgent,) = await worker.runs()
    assert PRIORITIES[urgent.priority] == "critical"


async def _next(node: Node, worker: ScriptedWorker) -> Run:
    while True:
        await node.step("fire")
        await node.step("claim")
        if runs := await worker.runs():
            return runs[0]


def _count(runs: list[Run], priority: Priority) -> int:
    return sum(PRIORITIES[run.priority] == priority for run in runs)


async def test_of_what_is_fired_together_the_more_urgent_gets_the_room(
    still_node: Node, clock: SettableClock
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["a", "b"], credit=3)
    every: dict[str, Any] = {"schedule": "every 1m", "overlap": "allow"}
    jobs = [JobRequest(task="a", priority="low", **every)] * 5
    await still_node.jobs.create(TENANT, [*jobs, *[JobRequest(task="b", priority="high", **every)] * 2])
    await later(clock, worker, timedelta(minutes=1))
    await still_node.step("fire")
    runs = await worker.runs()
    assert sorted(PRIORITIES[run.priority] for run in runs) == ["high", "high", "low"]


async def test_claiming_goes_on_at_once_only_while_something_is_left(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=5)
    await _submit(still_node, *["normal"] * 6)
    assert await still_node.step("claim")  # as many as there was room for: there may be more
    await worker.report_all(await worker.runs())
    assert not await still_node.step("claim")  # the last one: all lines are empty
    assert len(await worker.runs()) == 1
