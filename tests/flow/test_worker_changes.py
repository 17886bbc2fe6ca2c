"""Heartbeats that carry what a worker measured, and change its labels and resources."""

from typing import Any

import pytest

from support.node_steps import run_due
from support.sent_statements import watch_statements
from tickwork.model.job import JobRequest
from tickwork.model.requires_limits_fair_share import Requires
from tickwork.model.worker import WorkerLoad, WorkerView
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
LOAD = WorkerLoad(cpu=0.5, memory_used=1, memory_total=4, disk_used=9, disk_total=10, process_cpu=1.5)


@pytest.fixture
async def node(clock: SettableClock, still_node: Node) -> Node:
    return still_node


async def submit(node: Node, **requires: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", requires=Requires(**requires))])


async def shown(node: Node, worker: ScriptedWorker) -> WorkerView:
    assert worker.welcome
    return await node.workers.get(TENANT, worker.welcome.worker)


async def test_what_it_measured_is_shown(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"])
    assert (await shown(node, worker)).load is None
    await worker.beat(load=LOAD)
    assert (await shown(node, worker)).load == LOAD
    await worker.beat()  # measured nothing since
    assert (await shown(node, worker)).load == LOAD


async def test_new_labels_count_at_once(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"], labels={"region": "us"})
    await submit(node, labels={"region": "eu"})
    await run_due(node)
    assert await worker.runs() == []
    await worker.beat(labels={"region": "eu"})
    await run_due(node)
    assert len(await worker.runs()) == 1
    assert (await shown(node, worker)).labels == {"region": "eu"}


async def test_a_worker_whose_disk_is_full_gets_no_more_jobs_that_need_storage(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"], resources={"storage": 100.0})
    await submit(node, storage=60)
    await run_due(node)
    (run,) = await worker.runs()
    await worker.beat(resources={"storage": 0.0})
    await submit(node, storage=10)
    await submit(node)
    await run_due(node)
    assert len(await worker.runs()) == 1  # the one that needs none
    await worker.beat(resources={"storage": 100.0})
    await submit(node, storage=50)
    await run_due(node)
    assert len(await worker.runs()) == 1  # the small one: the first still uses 60
    await worker.complete(run)
    await run_due(node)
    assert len(await worker.runs()) == 1


async def test_changes_are_known_after_a_reconnect_to_another_node(
    clock: SettableClock, nodes: list[Node]
) -> None:
    worker = await ScriptedWorker.connect(nodes[0], ["work"], labels={"a": "1"})
    back = await worker.come_back([], labels={"a": "2"}, resources={"gpu": 1.0})
    view = await shown(nodes[1], back)
    assert (view.labels, view.resources) == ({"a": "2"}, {"gpu": 1.0})


async def test_a_heartbeat_writes_one_row_with_one_statement(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, ["work"])
    sent = watch_statements(node, vital=True)
    await worker.beat(load=LOAD, labels={"a": "1"}, resources={"gpu": 1.0})
    assert len([each for each in sent if "UPDATE" in each]) == 1
