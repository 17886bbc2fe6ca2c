"""Queues that are paused, limited and full, while work goes through them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.errors import QueueFull
from tickwork.model.execution import ExecutionFilter, ExecutionStatus, ExecutionView
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import job_id
from tickwork.model.queue import QueueSettings
from tickwork.model.worker_protocol import Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


async def submit(node: Node, count: int = 1, queue: str = "mail", **fields: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", queue=queue, **fields)] * count)


async def handed_out(node: Node, worker: ScriptedWorker) -> list[Run]:
    await run_due(node)
    return await worker.runs()


async def executions(node: Node) -> Sequence[ExecutionView]:
    return (await node.history.list(TENANT, ExecutionFilter(), 500)).items[::-1]


async def test_nothing_of_a_paused_queue_is_handed_out_and_the_others_go_on(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.queues.pause(TENANT, "mail")
    await submit(still_node, 3)
    await submit(still_node, 2, queue="other")
    assert len(await handed_out(still_node, worker)) == 2
    await still_node.queues.resume(TENANT, "mail")
    assert len(await handed_out(still_node, worker)) == 3


async def test_a_pause_and_a_limit_hold_on_the_other_nodes_too(
    clock: SettableClock, still_node: Node, settings: Settings
) -> None:
    other = Node(settings)
    await other.open()
    try:
        worker = await ScriptedWorker.connect(other, ["work"])
        await still_node.queues.pause(TENANT, "mail")
        await still_node.queues.set(TENANT, "mail", QueueSettings(max_running=2))
        await submit(still_node, 3)
        assert await handed_out(other, worker) == []
        await still_node.queues.resume(TENANT, "mail")
        assert len(await handed_out(other, worker)) == 2
    finally:
        await other.stop()


async def test_what_workers_hold_of_a_paused_queue_goes_on(still_node: Node, worker: ScriptedWorker) -> None:
    await submit(still_node)
    (run,) = await handed_out(still_node, worker)
    await still_node.queues.pause(TENANT, "mail")
    await worker.complete(run)
    assert [each.status for each in await executions(still_node)] == ["completed"]


async def test_due_times_of_a_paused_queue_wait_for_its_resumption(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await submit(still_node, schedule="every 1m", overlap="allow")
    await still_node.queues.pause(TENANT, "mail")
    for _ in range(3):
        await later(clock, worker, MINUTE)
        assert await handed_out(still_node, worker) == []
    assert [each.waiting_for for each in await executions(still_node)] == ["worker"] * 3
    await still_node.queues.resume(TENANT, "mail")
    assert len(await handed_out(still_node, worker)) == 3


async def test_no_more_run_at_once_than_a_queue_lets(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.queues.set(TENANT, "mail", QueueSettings(max_running=2))
    await submit(still_node, 5)
    counts = []
    while runs := await handed_out(still_node, worker):
        counts.append(len(runs))
        assert (await still_node.queues.get(TENANT, "mail")).running == len(runs)
        await worker.report_all(runs)
    assert counts == [2, 2, 1]


async def test_what_runs_already_counts_as_soon_as_a_limit_is_set(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await submit(still_node, 2)
    await submit(still_node, 3, queue="other")
    await submit(still_node, 2)
    running = await handed_out(still_node, worker)
    mail = {run.job for run in running} - {3, 4, 5}
    await still_node.queues.set(TENANT, "mail", QueueSettings(max_running=3))
    await submit(still_node, 4)
    assert await handed_out(still_node, worker) == []
    done = [run for run in running if run.job in mail][:2]
    await worker.report_all(done)
    assert len(await handed_out(still_node, worker)) == 1
    await still_node.queues.set(TENANT, "mail", QueueSettings(max_running=4))
    assert len(await handed_out(still_node, worker)) == 1
    await still_node.queues.set(TENANT, "mail", QueueSettings())
    assert len(await handed_out(still_node, worker)) == 2


async def test_setting_a_limit_again_counts_nothing_twice(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await submit(still_node, 3)
    await handed_out(still_node, worker)
    for _ in range(2):
        await still_node.queues.set(TENANT, "mail", QueueSettings(max_running=4))
    assert await connection.fetchval("SELECT sum(last - first + 1) FROM tickwork.slot") == 3
    await submit(still_node, 3)
    assert len(await handed_out(still_node, worker)) == 1


async def test_a_queue_starts_no_more_than_its_rate(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "mail", QueueSettings(rate="2/10s"))
    await submit(still_node, 5)
    assert len(await handed_out(still_node, worker)) == 2
    await later(clock, worker, 5 * SECOND)
    assert len(await handed_out(still_node, worker)) == 1
    await later(clock, worker, 10 * SECOND)
    assert len(await handed_out(still_node, worker)) == 2


async def test_nobody_waits_under_a_faster_rate_for_what_was_used_under_a_slow_one(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "mail", QueueSettings(rate="1/1h"))
    await submit(still_node, 3)
    assert len(await handed_out(still_node, worker)) == 1
    await still_node.queues.set(TENANT, "mail", QueueSettings(rate="1/s"))
    assert await handed_out(still_node, worker) == []
    await later(clock, worker, SECOND)
    assert len(await handed_out(still_node, worker)) == 1


async def test_a_full_queue_refuses_and_takes_again_when_there_is_room(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "mail", QueueSettings(max_backlog=2))
    await submit(still_node, 2)
    with pytest.raises(QueueFull, match="queue mail is full: 2 executions wait in it, and 2 may"):
        await submit(still_node)
    await handed_out(still_node, worker)
    await submit(still_node, 2)
    assert len(await executions(still_node)) == 4


async def test_due_times_for_which_a_full_queue_has_no_room_are_skipped_and_the_urgent_ones_wait(
    clock: SettableClock, still_node: Node
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    await still_node.queues.set(TENANT, "mail", QueueSettings(max_backlog=3))
    await submit(still_node)
    await submit(still_node, 2, schedule="every 1m", priority="low")
    await submit(still_node, 2, schedule="every 1m", priority="high")
    await submit(still_node, 2, schedule="every 1m", queue="other")
    await still_node.step("refresh full queues")
    await clock.advance(MINUTE)
    await run_due(still_node)
    fired = [(each.job_id, each.status, each.reason) for each in await executions(still_node)]
    full = ("skipped", "queue is full")
    waiting = ("pending", None)
    assert sorted(fired) == [
        (job_id(number), *state)
        for number, state in enumerate([waiting, full, full, waiting, waiting, waiting, waiting], 1)
    ]


async def test_a_due_time_that_a_worker_takes_at_once_needs_no_room(
    still_node: Node, clock: SettableClock
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=2)
    await still_node.queues.set(TENANT, "mail", QueueSettings(max_backlog=1))
    await submit(still_node, 4, schedule="every 1m", overlap="allow")
    await still_node.step("refresh full queues")
    for _ in range(12):
        await later(clock, worker, 10 * SECOND)
        await run_due(still_node)
    statuses = [each.status for each in await executions(still_node)]
    assert len(await worker.runs()) == 2
    assert (
        statuses.count(ExecutionStatus.RUNNING),
        statuses.count(ExecutionStatus.PENDING),
        statuses.count(ExecutionStatus.SKIPPED),
    ) == (2, 1, 5)
