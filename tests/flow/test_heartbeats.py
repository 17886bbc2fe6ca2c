"""The heartbeat URL of a job is called after each success, never in its way, and by some node in any case."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.loopback_target import Answer, Request, Target, hang, respond, target
from support.node_steps import later, run_due
from tickwork.execute import call_heartbeat_url
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class Receiver:
    """Answers heartbeats as it is told to."""

    def __init__(self) -> None:
        self.answer: Answer = respond()
        self.served: Target

    async def __call__(self, request: Request, writer: Any) -> None:
        await self.answer(request, writer)

    @property
    def calls(self) -> int:
        return len(self.served.requests)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with target(receiver) as served:
        receiver.served = served
        yield receiver


async def create(node: Node, receiver: Receiver, **fields: Any) -> str:
    request = JobRequest(task="work", heartbeat_url=receiver.served.url("/beat"), **fields)
    (view,) = await node.jobs.create(TENANT, [request])
    return view.id


async def complete(node: Node, worker: ScriptedWorker) -> None:
    await run_due(node)
    await worker.report_all(await worker.runs())


async def test_is_called_after_each_success(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, receiver: Receiver
) -> None:
    await create(still_node, receiver, schedule="every 1h")
    await still_node.step("read heartbeats")
    for number in (1, 2):
        await later(clock, worker, HOUR)
        await complete(still_node, worker)
        await still_node.step("call heartbeats")
        await still_node.step("call heartbeats")
        assert receiver.calls == number


async def test_is_not_called_after_a_failure(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, receiver: Receiver
) -> None:
    await create(still_node, receiver)
    await still_node.step("read heartbeats")
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.fail(run, Failure("ValueError", "no"))
    await still_node.step("call heartbeats")
    assert receiver.calls == 0


async def test_a_success_before_the_node_knew_of_the_url_is_told_of(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, receiver: Receiver
) -> None:
    await create(still_node, receiver)
    await complete(still_node, worker)
    await still_node.step("call heartbeats")
    assert receiver.calls == 0
    await still_node.step("read heartbeats")
    await still_node.step("call heartbeats")
    assert receiver.calls == 1


async def test_a_receiver_that_is_away_is_called_again_until_it_answers(
    clock: SettableClock,
    still_node: Node,
    worker: ScriptedWorker,
    receiver: Receiver,
) -> None:
    job = parse_job_id(await create(still_node, receiver))
    await still_node.step("read heartbeats")
    await complete(still_node, worker)
    receiver.answer = respond("503 Busy")
    for number in (1, 2, 3):
        await still_node.step("call heartbeats")
        assert receiver.calls == number
        await still_node.step("call heartbeats")
        assert receiver.calls == number  # not at once
        await clock.advance(timedelta(seconds=5 * 2 ** (number - 1)))
    shown = (await still_node.job_health.get(TENANT, job)).heartbeat
    assert (shown.failures, shown.error) == (3, "127.0.0.1 answered 503")
    receiver.answer = respond()
    await still_node.step("call heartbeats")
    await clock.advance(HOUR)
    await still_node.step("call heartbeats")
    assert receiver.calls == 4
    assert (await still_node.job_health.get(TENANT, job)).heartbeat.error is None


async def test_gives_up_when_the_news_is_old(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, receiver: Receiver
) -> None:
    await create(still_node, receiver)
    await still_node.step("read heartbeats")
    await complete(still_node, worker)
    receiver.answer = respond("500 Oops")
    for _ in range(10):
        await still_node.step("call heartbeats")
        await clock.advance(11 * MINUTE)
    assert 5 <= receiver.calls <= 7


async def test_a_receiver_that_hangs_delays_nothing_and_fails_nothing(
    clock: SettableClock,
    still_node: Node,
    worker: ScriptedWorker,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_heartbeat_url, "_TIMEOUT", 0.05)
    receiver.answer = hang
    job = await create(still_node, receiver)
    await still_node.step("read heartbeats")
    await complete(still_node, worker)
    view = await still_node.jobs.get(TENANT, parse_job_id(job))
    assert view.status == "completed"
    await still_node.step("call heartbeats")
    assert receiver.calls == 1


async def test_another_node_calls_what_a_dead_one_had_taken(
    clock: SettableClock, nodes: list[Node], receiver: Receiver
) -> None:
    worker = await ScriptedWorker.connect(nodes[0], ["work"])
    await create(nodes[0], receiver)
    for node in nodes:
        await node.step("read heartbeats")
    await complete(nodes[0], worker)
    store = nodes[0]._watches.heartbeats._store
    assert len(await store.take_due(10, MINUTE)) == 1  # and then it is killed
    await nodes[1].step("call heartbeats")
    assert receiver.calls == 0
    await clock.advance(MINUTE)
    await nodes[1].step("call heartbeats")
    await nodes[2].step("call heartbeats")
    assert receiver.calls == 1


async def test_executions_that_complete_together_are_told_of_in_one_call(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, receiver: Receiver
) -> None:
    job = await create(still_node, receiver, schedule="every 1h", overlap="allow")
    await still_node.step("read heartbeats")
    for _ in range(3):
        await still_node.runs.run(TENANT, parse_job_id(job))
    await complete(still_node, worker)
    await still_node.step("call heartbeats")
    assert receiver.calls == 1


async def test_the_url_can_be_changed_and_taken_away(
    clock: SettableClock, still_node: Node, receiver: Receiver, connection: asyncpg.Connection
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    job = parse_job_id(await create(still_node, receiver, schedule="every 1h"))
    await still_node.jobs.patch(TENANT, job, {"heartbeat_url": "https://example.com/other"})
    assert await connection.fetchval("SELECT url FROM tickwork.heartbeat") == "https://example.com/other"
    view = await still_node.jobs.patch(TENANT, job, {"heartbeat_url": None})
    assert view.heartbeat_url is None
    assert await connection.fetchval("SELECT count(*) FROM tickwork.heartbeat") == 0


async def test_is_forgotten_with_its_job(
    clock: SettableClock,
    still_node: Node,
    worker: ScriptedWorker,
    receiver: Receiver,
    connection: asyncpg.Connection,
) -> None:
    await create(still_node, receiver)
    await complete(still_node, worker)
    await later(clock, worker, timedelta(days=32))
    await still_node.step("maintain partitions")
    while await still_node.step("delete past jobs"):
        pass
    assert await connection.fetchval("SELECT count(*) FROM tickwork.heartbeat") == 0
