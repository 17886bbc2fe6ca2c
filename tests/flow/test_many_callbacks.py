"""Ten thousand executions that wait for their targets: what they cost while they wait, and when they end together."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from support.callback_node import TENANT, URL, CallbackNode
from support.node_steps import later
from support.query_plan import explain
from support.sent_statements import watch_statements
from tickwork.config import Settings
from tickwork.loop_names import LoopName
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.testing.clock import SettableClock

MANY = 10_000
ONCE = RetryRequest(max_attempts=1)
# What an idle node does all the time.
IDLE: tuple[LoopName, ...] = (
    "fire",
    "claim",
    "renew",
    "revoke",
    "reconcile",
    "rescue",
    "clean up slots",
    "record",
    "write logs",
    "end callbacks",
    "poll targets",
    "release queued",
    "tell late",
)


@pytest.fixture
async def target(clock: SettableClock, settings: Settings) -> AsyncIterator[CallbackNode]:
    opened = await CallbackNode.open(settings, credit=2 * MANY)
    yield opened
    await opened.node.stop()


async def accept_many(target: CallbackNode, heartbeat: float | None = None) -> None:
    job = JobRequest(http=HttpTarget(url=URL, completion="callback"), retry=ONCE)
    await target.node.jobs.create_many(TENANT, [job] * MANY)
    runs = await target.take()
    assert len(runs) == MANY
    await target.accept_all(runs, heartbeat=heartbeat)


async def idle_statements(target: CallbackNode) -> Counter[str]:
    seen = watch_statements(target.node)
    for loop in IDLE:
        await target.node.step(loop)
    return Counter(seen)


async def test_an_idle_node_sends_no_statement_more_for_those_that_wait(
    target: CallbackNode, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await target.create()
    (run,) = await target.take()
    await target.accept(run)  # all connections and caches are warm
    await idle_statements(target)
    before = await idle_statements(target)
    await accept_many(target)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.callback_wait") == MANY + 1
    (worker,) = (await target.node.workers.list(TENANT, 10)).items
    assert worker.holding == 0
    await later(clock, target.worker, timedelta(minutes=1))
    after = await idle_statements(target)
    assert after.total() <= before.total()
    written = await connection.fetchval(
        "SELECT count(*) FROM tickwork.callback_wait WHERE xmin::text::bigint > $1",
        await connection.fetchval("SELECT max(xmin::text::bigint) FROM tickwork.execution"),
    )
    assert written == 0
    assert not target.node._connected_workers.get(target.worker.welcome.worker).leased_count


async def test_the_overdue_and_the_due_are_found_by_index(
    target: CallbackNode, connection: asyncpg.Connection
) -> None:
    await accept_many(target)
    await connection.execute("ANALYZE tickwork.callback_wait")
    for query, index in (
        ("overdue_waits", "callback_wait_deadline"),
        ("take_due_polls", "callback_wait_poll"),
        ("extend_wait", "callback_wait_pkey"),
        ("set_next_poll", "callback_wait_of_lease"),
    ):
        assert index in await explain(target.node._database, "callback_wait", query)


async def test_all_that_lose_their_heartbeat_at_once_are_ended(
    target: CallbackNode, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await accept_many(target, heartbeat=60.0)
    await later(clock, target.worker, timedelta(minutes=2))
    while await target.node.step("end callbacks"):
        while await target.node.step("record"):
            pass
    while await target.node.step("record"):
        pass
    assert await connection.fetchval("SELECT count(*) FROM tickwork.callback_wait") == 0
    lost = await connection.fetchval("SELECT count(*) FROM tickwork.attempt WHERE outcome = 'lost'")
    assert lost == MANY
    again = await connection.fetchval("SELECT count(*) FROM tickwork.execution WHERE status = 'pending'")
    assert again == MANY
