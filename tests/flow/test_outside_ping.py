"""The cluster reports itself outside every minute, by one node at a time, while it fires and is well."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from support.loopback_target import Answer, respond, target
from tickwork.model.errors import Invalid, NotFound
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


async def report(nodes: list[Node]) -> None:
    await asyncio.gather(*(node.step("report outside") for node in nodes))


async def test_one_of_the_nodes_calls_every_minute(clock: SettableClock, nodes: list[Node]) -> None:
    async with target(respond()) as outside:
        await report(nodes)
        await nodes[0].outside_ping.set(outside.url("/check"))
        for number in (1, 2, 3):
            await report(nodes)
            await report(nodes)
            assert len(outside.requests) == number
            await clock.advance(MINUTE)
        assert outside.requests[0].line == "GET /check HTTP/1.1"
        view = await nodes[1].outside_ping.view()
        assert view.answered_at == view.called_at
        await nodes[0].outside_ping.delete()
        await report(nodes)
        assert len(outside.requests) == 3


async def test_a_cluster_that_is_late_with_its_rules_does_not_report_itself(
    clock: SettableClock, still_node: Node
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    await still_node.jobs.create(1, [JobRequest(task="work", schedule="every 1m")])
    async with target(respond()) as outside:
        await still_node.outside_ping.set(outside.url())
        await clock.advance(3 * MINUTE)
        await report([still_node])
        assert outside.requests == []
        while await still_node.step("fire"):
            pass
        await report([still_node])
        assert len(outside.requests) == 1


async def test_a_node_that_is_not_well_leaves_it_to_the_others(
    clock: SettableClock, nodes: list[Node]
) -> None:
    nodes[0]._watches.outside_ping._is_well = lambda: False
    async with target(respond()) as outside:
        await nodes[0].outside_ping.set(outside.url())
        await report(nodes[:1])
        assert outside.requests == []
        await report(nodes)
        assert len(outside.requests) == 1


@pytest.mark.parametrize("answer", [respond("500 Oops"), respond("301 Moved")])
async def test_a_call_that_failed_is_repeated_soon_and_shown(
    clock: SettableClock, still_node: Node, answer: Answer
) -> None:
    async with target(answer) as outside:
        await still_node.outside_ping.set(outside.url())
        await report([still_node])
        view = await still_node.outside_ping.view()
        assert (view.answered_at, view.error is not None) == (None, True)
        await report([still_node])
        assert len(outside.requests) == 1
        await clock.advance(10 * SECOND)
        await report([still_node])
        assert len(outside.requests) == 2


async def test_another_node_goes_on_when_one_dies_while_it_calls(
    clock: SettableClock, nodes: list[Node], connection: asyncpg.Connection
) -> None:
    async with target(respond()) as outside:
        await nodes[0].outside_ping.set(outside.url())
        store = nodes[0].outside_ping._store
        assert await store.take_due(MINUTE, MINUTE) == outside.url()  # and then it is killed
        await report(nodes[1:])
        assert outside.requests == []
        await clock.advance(MINUTE)
        await report(nodes[1:])
        assert len(outside.requests) == 1


async def test_refuses_what_is_no_url(clock: SettableClock, still_node: Node) -> None:
    with pytest.raises(Invalid, match="url"):
        await still_node.outside_ping.set("ftp://example.com")
    with pytest.raises(NotFound):
        await still_node.outside_ping.delete()
