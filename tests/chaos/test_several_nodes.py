"""What went wrong in other schedulers when several nodes did the same thing at once, or one of them stood still in the
middle of it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from support.end_sessions import end_sessions
from support.node_steps import run_due
from tickwork.config import Settings
from tickwork.dispatch import rescue
from tickwork.model.errors import Unavailable
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.store.pool import Database
from tickwork.store.trigger_store import PostgresTriggerStore
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker
from tickwork.trigger.catch_up import GRACE
from tickwork.trigger.fire import LEAD

TENANT = 1
_MINUTE = timedelta(minutes=1)
_IN_A_TRANSACTION = "state = 'idle in transaction' AND datname = current_database()"


@pytest.fixture
async def nodes(
    settings: Settings, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[Node]]:
    """Three still nodes on one machine."""
    monkeypatch.setattr(rescue, "_GRACE", 0.0)
    nodes = [Node(settings) for _ in range(3)]
    for node in nodes:
        await node.open()
    yield nodes
    for node in nodes:
        await node.stop()


@pytest.fixture
async def frozen(database_url: str) -> AsyncIterator[PostgresTriggerStore]:
    """The firing of a node that stands still in the middle of it."""
    database = Database(database_url, size=1)
    await database.open()
    yield PostgresTriggerStore(database)
    await database.close()


async def test_nodes_of_one_host_fire_each_due_time_once(
    nodes: list[Node], clock: SettableClock, connection: asyncpg.Connection
) -> None:
    worker = await ScriptedWorker.connect(nodes[0], tasks=["work"])
    jobs = [JobRequest(task="work", schedule=f"every {minutes}m", overlap="allow") for minutes in (1, 2, 3)]
    await nodes[0].jobs.create(TENANT, jobs * 4)
    for _ in range(6):
        await clock.advance(_MINUTE)
        await worker.beat()
        await asyncio.gather(*(run_due(node) for node in nodes))
    fired = "SELECT count(*) FROM tickwork.execution WHERE status <> 'skipped'"
    assert await connection.fetchval(fired) == 4 * (6 + 3 + 2)


async def test_a_node_that_stood_still_while_another_fired_does_not_fire_again(
    nodes: list[Node], frozen: PostgresTriggerStore, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    """It has read that the rule is due, and writes only two periods later."""
    await ScriptedWorker.offer_only(nodes[0], ["work"])
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="allow")])
    await clock.advance(_MINUTE)
    with pytest.raises(Unavailable):  # noqa: PT012 (the error comes from the end of the block)
        async with frozen.firing() as firing:
            (rule,) = await firing.take(LEAD, GRACE, 10)
            assert await nodes[0].step("fire") is False  # the rule is in its hands
            await end_sessions(connection, _IN_A_TRANSACTION)  # as the database does after ten seconds
            for _ in range(2):
                await run_due(nodes[0])
                await clock.advance(_MINUTE)
            await firing.pick([], 1)
    await asyncio.gather(*(run_due(node) for node in nodes))
    times = [
        row[0] for row in await connection.fetch("SELECT scheduled_for FROM tickwork.execution ORDER BY 1")
    ]
    assert times == [rule.next_at + _MINUTE * number for number in range(3)]


async def test_several_rescuers_find_a_dead_worker_once(
    nodes: list[Node], clock: SettableClock, connection: asyncpg.Connection
) -> None:
    worker = await ScriptedWorker.connect(nodes[0], tasks=["work"])
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work")] * 50)
    await nodes[0].step("claim")
    await worker.leave_silently()
    await clock.advance(_MINUTE)
    await asyncio.gather(*(node.step("rescue") for node in nodes * 3))
    found = await connection.fetch("SELECT status::text, attempt, failures, losses FROM tickwork.execution")
    assert {tuple(row) for row in found} == {("pending", 2, 0, 1)}
    assert await connection.fetchval("SELECT count(*) FROM tickwork.attempt") == 50


async def test_a_worker_that_died_before_its_first_beat_is_found(
    nodes: list[Node], clock: SettableClock, connection: asyncpg.Connection
) -> None:
    worker = await ScriptedWorker.connect(nodes[0], tasks=["work"])
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work")])
    await nodes[0].step("claim")
    await worker.leave_silently()
    await clock.advance(_MINUTE)
    await nodes[1].step("rescue")
    other = await ScriptedWorker.connect(nodes[1], tasks=["work"])
    await nodes[1].step("claim")
    assert [run.attempt for run in await other.runs()] == [2]


async def test_one_dead_worker_behind_many_that_live_is_found_at_once(
    nodes: list[Node], clock: SettableClock, connection: asyncpg.Connection
) -> None:
    living = [await ScriptedWorker.connect(nodes[0], tasks=["work"], credit=1) for _ in range(40)]
    dead = await ScriptedWorker.connect(nodes[1], tasks=["work"], credit=1)
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work")] * 41)
    for node in nodes:
        await run_due(node)
    await clock.advance(_MINUTE / 5)
    for worker in living:
        await worker.beat()
    await dead.leave_silently()
    await clock.advance(_MINUTE / 10)
    assert await nodes[2].step("rescue")
    lost = await connection.fetch("SELECT worker_id FROM tickwork.attempt WHERE outcome = 'lost'")
    assert [row["worker_id"] for row in lost] == [41]


async def test_a_worker_of_the_same_name_neither_hides_nor_revives_what_a_dead_one_held(
    nodes: list[Node], clock: SettableClock, connection: asyncpg.Connection
) -> None:
    first = await ScriptedWorker.connect(nodes[0], tasks=["work"])
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work")])
    await nodes[0].step("claim")
    (run,) = await first.runs()
    await first.leave_silently()
    second = await ScriptedWorker.connect(nodes[1], tasks=["work"])  # its name is the same
    assert await second.runs() == []
    await clock.advance(_MINUTE / 5)
    await second.beat()
    await clock.advance(_MINUTE / 5)
    await nodes[2].step("rescue")
    await nodes[1].step("claim")
    (again,) = await second.runs()
    assert (again.job, again.attempt) == (run.job, 2)
    late = ScriptedWorker(nodes[0], ["work"])
    await late.greet(resume=first.welcome.token)
    assert late.refused is not None


@pytest.mark.parametrize("place", [0, 1], ids=["on the same node", "on another node"])
async def test_a_greeting_that_a_newer_one_overtook_takes_nothing_with_it(
    nodes: list[Node], connection: asyncpg.Connection, place: int
) -> None:
    """A worker gave up a connection whose greeting the node reads only after it has greeted on the next one."""
    first = await ScriptedWorker.connect(nodes[0], tasks=["work"])
    newer, overtaken = ScriptedWorker(nodes[0], ["work"]), ScriptedWorker(nodes[place], ["work"])
    await newer.greet(resume=first.welcome.token)
    await overtaken.greet(resume=first.welcome.token)
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work")])
    await nodes[place].step("claim")
    await overtaken.leave_silently()
    assert await connection.fetchval("SELECT status FROM tickwork.execution") == "running"
    with pytest.raises(ConnectionError):
        await newer.beat()
    back = await newer.come_back([])
    (run,) = await back.runs()
    await back.complete(run)
    assert await connection.fetchval("SELECT status FROM tickwork.execution") == "completed"
