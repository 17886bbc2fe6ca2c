"""Queues that go before others, and queues that few workers work on."""

from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import run_due
from tickwork.model.execution import ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.queue import QueueSettings
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


async def submit(node: Node, queue: str, count: int = 1, **fields: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", queue=queue, **fields)] * count)


async def set_queue(node: Node, name: str, **settings: Any) -> None:
    await node.queues.set(TENANT, name, QueueSettings(**settings))
    await node.step("read dispatch settings")


async def queues_of(node: Node, worker: ScriptedWorker) -> list[str]:
    """The queues of what the worker gets now."""
    jobs = [run.job for run in await worker.runs()]
    return sorted(job.queue for job in await node._read.jobs_by_id(TENANT, jobs))


@pytest.fixture
async def node(clock: SettableClock, still_node: Node) -> Node:
    await ScriptedWorker.offer_only(still_node, ["work"])
    return still_node


async def test_a_queue_goes_first_whatever_the_priority_of_jobs(node: Node) -> None:
    await set_queue(node, "live", priority="high")
    await submit(node, "batch", 5, priority="critical")
    await submit(node, "live", 5, priority="low")
    worker = await ScriptedWorker.connect(node, ["work"], credit=5)
    await run_due(node)
    assert await queues_of(node, worker) == ["live"] * 5


async def test_within_a_queue_the_priority_of_jobs_decides(node: Node) -> None:
    await set_queue(node, "live", priority="high")
    await submit(node, "live", 3, priority="low")
    await submit(node, "live", 3, priority="high")
    worker = await ScriptedWorker.connect(node, ["work"], credit=3)
    await run_due(node)
    assert [run.priority for run in await worker.runs()] == [1, 1, 1]


async def test_a_queue_with_a_low_priority_goes_last_but_does_not_starve(
    node: Node, clock: SettableClock
) -> None:
    await set_queue(node, "batch", priority="low")
    await submit(node, "batch", 5)
    await clock.advance(2 * MINUTE)
    await submit(node, "live", 100)
    worker = await ScriptedWorker.connect(node, ["work"], credit=20)
    await run_due(node)
    assert (await queues_of(node, worker)).count(
        "batch"
    ) == 2  # one in ten, because they have waited for long


async def test_what_is_fired_does_not_overtake_a_queue_that_goes_first(
    node: Node, clock: SettableClock
) -> None:
    await set_queue(node, "live", priority="high")
    await submit(node, "batch", 2, priority="critical", schedule="every 1m", overlap="allow")
    worker = await ScriptedWorker.connect(node, ["work"], credit=2)
    await clock.advance(MINUTE - 2 * SECOND)
    await submit(node, "live", 4)
    await clock.advance(SECOND)
    await worker.beat()
    await run_due(node)
    first = await worker.runs()
    await clock.advance(SECOND)
    await worker.beat()
    await worker.complete(first[0])
    await run_due(node)
    shown = await node._read.jobs_by_id(TENANT, [run.job for run in [*first, *await worker.runs()]])
    assert {job.queue for job in shown} == {"live"}


async def test_all_nodes_follow_and_normal_is_forgotten(clock: SettableClock, nodes: list[Node]) -> None:
    await ScriptedWorker.offer_only(nodes[0], ["work"])
    await nodes[0].queues.set(TENANT, "live", QueueSettings(priority="critical"))
    await nodes[1].step("read dispatch settings")
    await submit(nodes[0], "batch", 3)
    await submit(nodes[0], "live", 3, priority="low")
    worker = await ScriptedWorker.connect(nodes[1], ["work"], credit=3)
    await run_due(nodes[1])
    assert await queues_of(nodes[1], worker) == ["live"] * 3
    assert (await nodes[2].queues.get(TENANT, "live")).priority == "critical"
    shown = await nodes[0].queues.set(TENANT, "live", QueueSettings())
    assert shown.priority == "normal"
    assert await nodes[0]._database.fetch("SELECT FROM tickwork.queue_priority") == []


async def test_at_most_so_many_workers_have_executions_of_a_queue(
    clock: SettableClock, nodes: list[Node]
) -> None:
    workers = [await ScriptedWorker.connect(node, ["work"], credit=2) for node in (*nodes, nodes[0])]
    await set_queue(nodes[0], "mail", max_workers=2)
    await submit(nodes[0], "mail", 20)
    for node in nodes:
        await run_due(node)
    had = [await worker.runs() for worker in workers]
    assert sorted(map(len, had)) == [0, 0, 2, 2]
    (waiting, *_) = [
        each
        for each in (await nodes[2].history.list(TENANT, ExecutionFilter(), 50)).items
        if each.status == "pending"
    ]
    reasons = await nodes[2].reasons.of(TENANT, *parse_execution_id(waiting.id))
    assert "2 workers have executions of queue mail, and at most 2 may" in reasons.summary
    for worker, runs in zip(workers, had, strict=True):
        if runs:
            await worker.report_all(runs)
    await run_due(nodes[2])
    assert len(await workers[2].runs()) == 2  # others may work on it now


async def test_other_queues_go_to_all_workers(node: Node) -> None:
    workers = [await ScriptedWorker.connect(node, ["work"], credit=2) for _ in range(3)]
    await set_queue(node, "mail", max_workers=1)
    await submit(node, "mail", 10)
    await submit(node, "other", 10)
    await run_due(node)
    found = [await queues_of(node, worker) for worker in workers]
    assert sum("mail" in queues for queues in found) == 1
    assert sum(map(len, found)) == 6


async def test_fewer_workers_go_on_after_the_limit_was_lowered(node: Node) -> None:
    workers = [await ScriptedWorker.connect(node, ["work"], credit=1) for _ in range(3)]
    await submit(node, "mail", 9)
    await run_due(node)
    had = [await worker.runs() for worker in workers]
    assert list(map(len, had)) == [1, 1, 1]
    await set_queue(node, "mail", max_workers=1)
    for worker, runs in zip(workers[::-1], had[::-1], strict=True):
        await worker.report_all(runs)
        await run_due(node)
    assert sorted([len(await worker.runs()) for worker in workers]) == [0, 0, 1]
