"""A job run by hand while an execution of it has not ended: whatever the call says."""

import asyncio
from datetime import timedelta

import pytest

from support.node_steps import later, run_due
from tickwork.model.errors import Conflict
from tickwork.model.execution import ExecutionFilter, ExecutionStatus
from tickwork.model.job import JobRequest
from tickwork.model.overlap import QUEUE_LIMIT, Overlap
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT, JOB = 1, 1
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="queue")])
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    await later(clock, worker, timedelta(seconds=1))
    return worker


async def statuses(node: Node) -> list[str]:
    return [str(each.status) for each in (await node.history.list(TENANT, ExecutionFilter(), 500)).items][
        ::-1
    ]


async def test_allow_runs_beside_it(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.runs.run(TENANT, JOB)
    await run_due(still_node)
    assert await statuses(still_node) == ["running", "running"]


async def test_skip_refuses_and_names_what_is_in_the_way(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (running,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    with pytest.raises(Conflict, match=f"{running.id} of this job has not ended"):
        await still_node.runs.run(TENANT, JOB, "skip")
    assert len(await statuses(still_node)) == 1
    await worker.report_all(await worker.runs())
    by_hand = await still_node.runs.run(TENANT, JOB, "skip")
    with pytest.raises(Conflict, match=by_hand.id):
        await still_node.runs.run(TENANT, JOB, "skip")


async def test_queue_waits_its_turn_and_the_schedule_waits_behind_it(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    by_hand = await still_node.runs.run(TENANT, JOB, "queue")
    assert (by_hand.status, by_hand.waiting_for) == ("pending", "limit")
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    assert await statuses(still_node) == ["running", "pending", "pending"]
    for number in range(3):
        assert await statuses(still_node) == (
            ["completed"] * number + ["running"] + ["pending"] * (2 - number)
        )
        await worker.report_all(await worker.runs())
        await still_node.step("release queued")
        await run_due(still_node)
    assert await statuses(still_node) == ["completed"] * 3


async def test_queue_is_bounded(still_node: Node, worker: ScriptedWorker) -> None:
    for _ in range(QUEUE_LIMIT):
        await still_node.runs.run(TENANT, JOB, "queue")
    with pytest.raises(Conflict, match=f"{QUEUE_LIMIT} executions of this job wait"):
        await still_node.runs.run(TENANT, JOB, "queue")
    assert await statuses(still_node) == ["running"] + ["pending"] * QUEUE_LIMIT


async def test_replace_cancels_it_and_tells_its_worker(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.runs.run(TENANT, JOB, "replace")
    await run_due(still_node)
    await still_node.step("revoke")
    assert await statuses(still_node) == ["cancelled", "running"]
    assert len(await worker.revokes()) == 1


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
async def test_nothing_is_in_the_way_of_a_job_that_is_idle(
    still_node: Node, worker: ScriptedWorker, overlap: Overlap
) -> None:
    await worker.report_all(await worker.runs())
    await still_node.runs.run(TENANT, JOB, overlap)
    await run_due(still_node)
    assert await statuses(still_node) == ["completed", "running"]


async def test_a_job_that_is_due_once_is_in_its_own_way(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    with pytest.raises(Conflict, match="has not ended"):
        await still_node.runs.run(TENANT, 2, "skip")


async def test_a_run_and_the_schedule_at_the_same_moment_never_overlap(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.patch(TENANT, JOB, {"overlap": "skip"})
    for _ in range(20):
        await worker.report_all(await worker.runs())
        await later(clock, worker, MINUTE)
        await asyncio.gather(
            still_node.step("fire"), still_node.runs.run(TENANT, JOB, "skip"), return_exceptions=True
        )
        await run_due(still_node)
        running = await still_node.history.list(TENANT, ExecutionFilter(ExecutionStatus.RUNNING), 10)
        assert len(running.items) == 1
