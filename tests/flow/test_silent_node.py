"""A node that fires nothing is noticed by the others, told of once, and again when it is back."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tickwork.config import Settings
from tickwork.model.stream_event import StreamEvent
from tickwork.node import Node
from tickwork.testing.clock import SettableClock

OPERATORS = 1  # the tenant default
INTERVAL = timedelta(seconds=5)


async def told(node: Node) -> list[StreamEvent]:
    while await node.step("number events"):
        pass
    store = node.event_feed._store
    numbered = await store.events_of(OPERATORS, 0, await store.last_number(), 500)
    return [each.event for each in numbered if each.event.kind.startswith("node.")]


async def kinds(node: Node) -> list[str]:
    return [event.kind for event in await told(node)]


async def pass_time(clock: SettableClock, reporting: list[Node], steps: int) -> None:
    """These nodes report themselves, as they do every five seconds."""
    for _ in range(steps):
        await clock.advance(INTERVAL)
        for node in reporting:
            await node.step("report node")


@pytest.fixture
async def well(clock: SettableClock, nodes: list[Node]) -> list[Node]:
    """Three nodes that have known each other for a while."""
    await pass_time(clock, nodes, 6)
    return nodes


async def test_a_node_that_is_gone_is_told_of_once(clock: SettableClock, well: list[Node]) -> None:
    *others, _ = well
    await pass_time(clock, others, 3)
    assert await kinds(well[0]) == []
    await pass_time(clock, others, 7)
    (event,) = await told(well[0])
    assert event.kind == "node.silent"
    assert event.detail["node"] == well[2].cluster._id


async def test_a_node_that_lives_and_fires_nothing_is_told_of_too(
    clock: SettableClock, well: list[Node]
) -> None:
    well[2].cluster._fire_age = lambda: 30.0
    await pass_time(clock, well, 3)
    assert await kinds(well[0]) == ["node.silent"]
    well[2].cluster._fire_age = lambda: 0.05
    await pass_time(clock, well, 3)
    assert await kinds(well[0]) == ["node.silent", "node.back"]


async def test_a_node_that_was_frozen_is_back_when_it_reports_itself(
    clock: SettableClock, well: list[Node]
) -> None:
    await pass_time(clock, well[:2], 6)
    await pass_time(clock, well, 8)
    assert await kinds(well[0]) == ["node.silent", "node.back"]


async def test_a_node_that_stops_in_order_is_not_told_of(
    clock: SettableClock, well: list[Node], settings: Settings
) -> None:
    await well[2].cluster.leave()
    await pass_time(clock, well[:2], 8)
    assert await kinds(well[0]) == []


async def test_after_an_outage_of_the_database_nobody_is_taken_for_silent(
    clock: SettableClock, well: list[Node]
) -> None:
    """All nodes were silent, and report themselves one after the other."""
    await clock.advance(timedelta(minutes=10))
    await pass_time(clock, well[:1], 3)
    await pass_time(clock, well, 8)
    assert await kinds(well[0]) == []


async def test_a_new_node_does_not_judge_at_once(
    clock: SettableClock, still_node: Node, settings: Settings
) -> None:
    await still_node.step("report node")
    await clock.advance(timedelta(minutes=1))
    other = Node(settings)
    await other.open()
    await other.step("report node")
    assert await kinds(other) == []
    await pass_time(clock, [other], 5)
    assert await kinds(other) == ["node.silent"]
    await other.stop()


@pytest.fixture
async def restarted(settings: Settings) -> AsyncIterator[Node]:
    node = Node(settings)
    await node.open()
    yield node
    await node.stop()


async def test_a_node_that_is_killed_and_started_again_is_not_told_of(
    clock: SettableClock, well: list[Node], restarted: Node
) -> None:
    well[2].cluster.address = restarted.cluster.address = "box:8080"
    await pass_time(clock, well, 1)
    await pass_time(clock, [well[0], well[1], restarted], 8)
    assert await kinds(well[0]) == []


async def test_a_node_that_is_started_again_late_is_back(
    clock: SettableClock, well: list[Node], restarted: Node
) -> None:
    well[2].cluster.address = restarted.cluster.address = "box:8080"
    await pass_time(clock, well, 1)
    await pass_time(clock, well[:2], 6)
    await pass_time(clock, [well[0], well[1], restarted], 2)
    assert await kinds(well[0]) == ["node.silent", "node.back"]
