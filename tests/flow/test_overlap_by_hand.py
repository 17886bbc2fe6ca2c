"""A job that takes longer than its period and is run by hand besides: both are in the way of its next due time."""

from datetime import timedelta

import pytest

from support.node_steps import later, run_due
from tickwork.model.execution import ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.model.overlap import Overlap
from tickwork.model.worker_protocol import Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
MINUTE = timedelta(minutes=1)


async def scheduled_and_by_hand(
    node: Node, clock: SettableClock, worker: ScriptedWorker, overlap: Overlap
) -> tuple[Run, Run]:
    await node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap=overlap)])
    await later(clock, worker, MINUTE)
    await run_due(node)
    await later(clock, worker, MINUTE / 2)
    await node.runs.run(TENANT, 1)
    await run_due(node)
    scheduled, by_hand = await worker.runs()
    return scheduled, by_hand


async def next_due(node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    await later(clock, worker, MINUTE)
    await node.step("release queued")
    await run_due(node)


async def statuses(node: Node) -> list[str]:
    return [str(each.status) for each in (await node.history.list(TENANT, ExecutionFilter(), 500)).items][
        ::-1
    ]


async def test_skip_still_sees_the_scheduled_one_after_the_other_has_ended(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    _, by_hand = await scheduled_and_by_hand(still_node, clock, worker, "skip")
    await next_due(still_node, clock, worker)
    await worker.complete(by_hand)
    await next_due(still_node, clock, worker)
    assert await statuses(still_node) == ["running", "completed", "skipped", "skipped"]


async def test_replace_ends_both(still_node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    await scheduled_and_by_hand(still_node, clock, worker, "replace")
    await next_due(still_node, clock, worker)
    assert await statuses(still_node) == ["cancelled", "cancelled", "running"]


@pytest.mark.parametrize("first_to_end", [0, 1])
async def test_queue_waits_for_both(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, first_to_end: int
) -> None:
    runs = await scheduled_and_by_hand(still_node, clock, worker, "queue")
    await next_due(still_node, clock, worker)
    await worker.complete(runs[first_to_end])
    await still_node.step("release queued")
    await run_due(still_node)
    assert (await statuses(still_node))[2] == "pending"
    await worker.complete(runs[1 - first_to_end])
    await still_node.step("release queued")
    await run_due(still_node)
    assert await statuses(still_node) == ["completed", "completed", "running"]
