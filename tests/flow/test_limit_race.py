"""A worker frees a place while firing waits for the locks of the limits: the limits hold all the same."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from support.waiting import eventually
from tickwork.model.job import JobRequest
from tickwork.model.requires_limits_fair_share import Limit
from tickwork.model.worker_protocol import Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
ONE = [Limit("customer-42", max_running=1)]
MANY = [Limit("anybody", max_running=1000)]
_LOCK = "SELECT FROM tickwork.limiter WHERE kind = 'key' AND name = $1 FOR UPDATE"
_WAITS = "SELECT FROM pg_locks WHERE NOT granted"


@pytest.fixture
async def idle(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["plain"])


@pytest.fixture
async def full(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    """Has two places."""
    return await ScriptedWorker.connect(still_node, ["work"], credit=2)


async def _create(node: Node, task: str, limits: list[Limit], **options: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(task=task, limits=limits, **options)])


async def _fill(node: Node, worker: ScriptedWorker) -> Run:
    """One execution under the limit, which uses it up, and one without a limit: the latter."""
    await _create(node, "work", ONE)
    await run_due(node)
    await worker.runs()
    await _create(node, "work", [])
    await run_due(node)
    (unlimited,) = await worker.runs()
    return unlimited


async def test_a_place_freed_while_the_locks_are_waited_for_is_not_filled_past_a_limit(
    still_node: Node,
    clock: SettableClock,
    connection: asyncpg.Connection,
    idle: ScriptedWorker,
    full: ScriptedWorker,
) -> None:
    unlimited = await _fill(still_node, full)
    await _create(still_node, "plain", MANY, schedule="every 1m", overlap="allow")
    await _create(still_node, "work", ONE, schedule="every 1m", overlap="allow")
    await later(clock, idle, timedelta(minutes=1))
    await full.beat()

    async with connection.transaction():
        await connection.execute(_LOCK, "anybody")
        firing = asyncio.create_task(still_node.step("fire"))
        await eventually(lambda: connection.fetch(_WAITS), within=30, what="waiting for the lock")
        await full.complete(unlimited)
    await firing
    await run_due(still_node)

    assert len(await idle.runs()) == 1
    assert await full.runs() == []
