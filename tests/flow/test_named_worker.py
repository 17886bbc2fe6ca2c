"""Jobs and runs that only a named worker may run."""

from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import run_due
from tickwork.model.execution import ExecutionFilter, ExecutionView
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.requires_limits_fair_share import Requires
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


@pytest.fixture
async def box_1(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work", "other"], name="box-1")


async def create(node: Node, **fields: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(**{"task": "work", **fields})])


async def executions(node: Node) -> list[ExecutionView]:
    return (await node.history.list(TENANT, ExecutionFilter(), 500)).items[::-1]


async def test_runs_on_the_worker_that_it_names(still_node: Node, box_1: ScriptedWorker) -> None:
    box_2 = await ScriptedWorker.connect(still_node, ["work"], name="box-2")
    for _ in range(3):
        await create(still_node, requires=Requires(worker="box-2"))
    await run_due(still_node)
    assert [len(await worker.runs()) for worker in (box_1, box_2)] == [0, 3]


async def test_waits_for_its_worker_and_says_since_when_that_is_away(
    still_node: Node, clock: SettableClock, box_1: ScriptedWorker
) -> None:
    box_2 = await ScriptedWorker.connect(still_node, ["work"], name="box-2")
    await box_2.leave_silently()
    await clock.advance(timedelta(minutes=5))
    await box_1.beat()
    await create(still_node, requires=Requires(worker="box-2"))
    await create(still_node, requires=Requires(worker="box-3"))
    await run_due(still_node)
    assert await box_1.runs() == []
    seen, never = [
        await still_node.reasons.of(TENANT, *parse_execution_id(each.id))
        for each in await executions(still_node)
    ]
    assert [cause.kind for cause in seen.causes] == ["worker"]
    assert seen.summary == "It may run only on the worker box-2, which is away and was last seen 5m ago."
    assert "box-3, which is away and was never seen" in never.summary


async def test_a_manual_run_may_name_its_worker(still_node: Node, box_1: ScriptedWorker) -> None:
    box_2 = await ScriptedWorker.connect(still_node, ["work"], name="box-2")
    await create(still_node, schedule="every 1h")
    await still_node.runs.run(TENANT, 1, worker="box-2")
    await run_due(still_node)
    assert [len(await worker.runs()) for worker in (box_1, box_2)] == [0, 1]


@pytest.mark.parametrize("schedule", ["every 1h", "in 1h"])
async def test_a_run_that_waits_for_its_worker_is_paused_and_cancelled_with_its_job(
    still_node: Node, box_1: ScriptedWorker, schedule: str
) -> None:
    await create(still_node, schedule=schedule)
    run = await still_node.runs.run(TENANT, 1, worker="box-2")
    await still_node.jobs.pause(TENANT, 1)
    box_2 = await ScriptedWorker.connect(still_node, ["work"], name="box-2")
    await run_due(still_node)
    assert await box_2.runs() == []
    await still_node.jobs.resume(TENANT, 1)
    await still_node.jobs.cancel(TENANT, 1)
    (shown,) = [each for each in await executions(still_node) if each.id == run.id]
    assert shown.status == "cancelled"


async def test_a_run_keeps_its_worker_when_its_job_is_edited(still_node: Node, box_1: ScriptedWorker) -> None:
    await create(still_node, schedule="every 1h")
    await still_node.runs.run(TENANT, 1, worker="box-2")
    await still_node.jobs.patch(TENANT, 1, {"task": "other", "queue": "mail"})
    old = await ScriptedWorker.connect(still_node, ["work"], name="box-2")
    await run_due(still_node)
    assert (await old.runs(), await box_1.runs()) == ([], [])
    box_2 = await ScriptedWorker.connect(still_node, ["other"], name="box-2")
    await run_due(still_node)
    assert [run.task for run in await box_2.runs()] == ["other"]
