"""A job that takes longer than its period, under each policy."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.execution import ExecutionFilter, ExecutionStatus
from tickwork.model.job import JobRequest
from tickwork.model.overlap import QUEUE_LIMIT, Overlap
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
MINUTE = timedelta(minutes=1)


async def statuses(node: Node) -> list[str]:
    return [str(each.status) for each in (await node.history.list(TENANT, ExecutionFilter(), 500)).items][
        ::-1
    ]


async def test_queue_runs_them_one_after_the_other_in_order(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="queue")])
    for _ in range(4):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
    (run,) = await worker.runs()
    waiting = (
        await still_node.history.list(TENANT, ExecutionFilter(status=ExecutionStatus.PENDING), 10)
    ).items
    assert [each.waiting_for for each in waiting] == ["limit"] * 3
    began = [run.at]
    for _ in range(3):
        await worker.complete(run)
        await still_node.step("release queued")
        await run_due(still_node)
        (run,) = await worker.runs()
        began.append(run.at)
    assert began == sorted(began)
    assert await statuses(still_node) == ["completed"] * 3 + ["running"]


async def test_queue_is_bounded(still_node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="queue")])
    for _ in range(QUEUE_LIMIT + 3):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
    assert await statuses(still_node) == ["running"] + ["pending"] * QUEUE_LIMIT + ["skipped"] * 2


async def test_replace_cancels_the_running_one_and_tells_its_worker(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="replace")])
    for _ in range(3):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
        await still_node.step("revoke")
    assert await statuses(still_node) == ["cancelled", "cancelled", "running"]
    assert len(await worker.runs()) == 3
    assert len(await worker.revokes()) == 2


async def test_allow_runs_all_at_once(still_node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="allow")])
    for _ in range(3):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
    assert await statuses(still_node) == ["running"] * 3


async def test_a_run_by_hand_is_in_the_way_of_the_schedule_too(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    await still_node.runs.run(TENANT, 1)
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    assert await statuses(still_node) == ["running", "skipped"]


async def test_jitter_spreads_jobs_within_its_bounds_and_always_the_same_way(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    spread = {"every": "10m", "jitter": "5m"}
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule=spread)] * 50)
    await later(clock, worker, timedelta(minutes=10))
    await run_due(still_node)
    delays = [
        each.due_at - each.scheduled_for
        for each in (await still_node.history.list(TENANT, ExecutionFilter(), 50)).items
    ]
    assert all(timedelta(0) <= delay <= timedelta(minutes=5) for delay in delays)
    assert len(set(delays)) > 40
    await later(clock, worker, timedelta(minutes=5))
    await run_due(still_node)
    assert len(await worker.runs()) == 50


@pytest.fixture
async def three_nodes(settings: Settings, clock: SettableClock) -> AsyncIterator[list[Node]]:
    nodes = [Node(settings) for _ in range(3)]
    for node in nodes:
        await node.open()
    yield nodes
    for node in nodes:
        await node.stop()


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        ("skip", ["completed", "skipped", "skipped", "skipped"] * 2),
        ("queue", ["completed", "completed", *["pending"] * 6]),
        ("allow", ["completed"] * 5 + ["running"] * 3),
        ("replace", ["cancelled"] * 7 + ["running"]),
    ],
)
async def test_a_job_that_takes_four_periods_on_three_nodes(
    three_nodes: list[Node], clock: SettableClock, overlap: Overlap, expected: list[str]
) -> None:
    """Eight due times; each run that is let be is completed four periods after it began."""
    workers = [await ScriptedWorker.connect(node, ["work"]) for node in three_nodes]
    await three_nodes[0].jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap=overlap)])
    under_way = []
    for minute in range(1, 9):
        await clock.advance(MINUTE)
        await asyncio.gather(*(worker.beat() for worker in workers))
        for began, worker, run in [each for each in under_way if each[0] == minute - 4]:
            await worker.complete(run)
            under_way.remove((began, worker, run))
        await three_nodes[minute % 3].step("release queued")
        await asyncio.gather(*(run_due(node) for node in three_nodes))
        under_way += [(minute, worker, run) for worker in workers for run in await worker.runs()]
    for _, worker, run in [each for each in under_way if each[0] == 5 and overlap != "replace"]:
        await clock.advance(MINUTE / 2)
        await worker.complete(run)
    assert await statuses(three_nodes[0]) == expected
