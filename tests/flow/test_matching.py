"""Jobs go to workers that have what they need, and wait for one otherwise."""

from typing import Any

import pytest

from support.node_steps import run_due
from tickwork.model.execution import ExecutionFilter, ExecutionStatus
from tickwork.model.job import JobRequest
from tickwork.model.requires_limits_fair_share import Requires
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


@pytest.fixture
async def node(clock: SettableClock, still_node: Node) -> Node:
    await ScriptedWorker.offer_only(still_node, ["work"])
    return still_node


async def _submit(node: Node, count: int = 1, **requires: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", requires=Requires(**requires))] * count)


async def test_goes_to_a_worker_with_its_labels(node: Node) -> None:
    us = await ScriptedWorker.connect(node, ["work"], labels={"region": "us"})
    eu = await ScriptedWorker.connect(node, ["work"], labels={"region": "eu", "disk": "ssd"})
    await _submit(node, labels={"region": "eu"})
    await run_due(node)
    assert [len(await worker.runs()) for worker in (us, eu)] == [0, 1]


async def test_waits_for_a_worker_that_could_run_it(node: Node) -> None:
    small = await ScriptedWorker.connect(node, ["work"], resources={"gpu": 1.0})
    await _submit(node, gpu=2)
    await run_due(node)
    assert await small.runs() == []
    (waiting,) = (await node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (waiting.status, waiting.waiting_for) == (ExecutionStatus.PENDING, "worker")
    large = await ScriptedWorker.connect(node, ["work"], resources={"gpu": 4.0})
    await run_due(node)
    assert len(await large.runs()) == 1


async def test_resources_are_in_use_until_the_end(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"], resources={"memory": 2.0 * 1024**3, "cpu": 4.0})
    await _submit(node, 5, memory="512Mi", cpu=0.5)
    await run_due(node)
    runs = await worker.runs()
    assert len(runs) == 4
    await worker.complete(runs[0])
    await run_due(node)
    assert len(await worker.runs()) == 1


async def test_resources_are_in_use_after_a_reconnect(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"], resources={"gpu": 1.0})
    await _submit(node, 2, gpu=1)
    await run_due(node)
    (run,) = await worker.runs()
    back = await worker.come_back([run], resources={"gpu": 1.0})
    await run_due(node)
    assert await back.runs() == []
    await back.complete(run)
    await run_due(node)
    assert len(await back.runs()) == 1


async def test_goes_where_it_fits_best(node: Node) -> None:
    large = await ScriptedWorker.connect(node, ["work"], resources={"gpu": 8.0})
    small = await ScriptedWorker.connect(node, ["work"], resources={"gpu": 1.0})
    await _submit(node, gpu=1)
    await run_due(node)
    await _submit(node, gpu=8)
    await run_due(node)
    assert [len(await worker.runs()) for worker in (large, small)] == [1, 1]


async def test_what_needs_nothing_special_leaves_special_workers_alone(node: Node) -> None:
    special = await ScriptedWorker.connect(node, ["work"], credit=10, resources={"gpu": 1.0})
    plain = await ScriptedWorker.connect(node, ["work"], credit=10)
    await _submit(node, 10)
    await run_due(node)
    assert [len(await worker.runs()) for worker in (special, plain)] == [0, 10]
    await _submit(node, 3)
    await run_due(node)
    assert len(await special.runs()) == 3


async def test_one_that_nobody_can_run_holds_up_nobody(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"], credit=1)
    await _submit(node, 20, gpu=1)
    await _submit(node)
    await run_due(node)
    assert len(await worker.runs()) == 1


async def test_custom_resources_count(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"], resources={"license": 2.0})
    await _submit(node, 3, custom={"license": 1})
    await run_due(node)
    assert len(await worker.runs()) == 2
