"""Nodes report themselves, and operators see all of them with their database."""

import os
from datetime import timedelta
from typing import Any

import httpx2

from api.conftest import Connect, MakeTenant
from tickwork import __version__
from tickwork.config import Settings
from tickwork.node import Node
from tickwork.testing import SettableClock


async def shown(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/v1/cluster")
    assert answer.status_code == 200
    return answer.json()


async def test_shows_the_node_that_answers_and_the_database(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    still_node.cluster.address = "box:8080"
    await still_node.step("update zone data")
    await still_node.step("report node")
    cluster = await shown(client)
    (node,) = cluster["nodes"]
    assert (node["status"], node["pid"], node["version"]) == ("ready", os.getpid(), __version__)
    assert (node["address"], node["problems"], node["answers"]) == ("box:8080", [], True)
    assert abs(node["clock_skew"]) < 3600
    assert node["database_latency"] > 0
    database = cluster["database"]
    assert database["connections_allowed"] >= database["connections_used"] >= 1
    assert database["size_bytes"] > 1_000_000
    assert (database["is_replica"], database["embedded"], cluster["disk"]) == (False, False, None)
    assert cluster["schema_version"] >= 1
    assert cluster["zone_data"]


async def test_a_node_that_falls_silent_is_marked_and_later_forgotten(
    clock: SettableClock, client: httpx2.AsyncClient, still_node: Node, settings: Settings
) -> None:
    other = Node(settings)
    await other.open()
    await other.step("report node")
    await clock.advance(timedelta(seconds=30))
    await still_node.step("report node")
    assert [node["status"] for node in (await shown(client))["nodes"]] == ["silent", "ready"]
    await clock.advance(timedelta(hours=1))
    await still_node.step("report node")
    assert len((await shown(client))["nodes"]) == 1
    await other.stop()


async def test_a_node_that_stops_leaves(
    client: httpx2.AsyncClient, still_node: Node, settings: Settings, connect: Connect
) -> None:
    other = Node(settings)
    await other.open()
    for node in (still_node, other):
        await node.step("report node")
    assert [node["answers"] for node in (await shown(client))["nodes"]].count(True) == 1
    await other.stop()
    assert [node["answers"] for node in (await shown(client))["nodes"]] == [True]


async def test_says_what_is_wrong_with_a_node(client: httpx2.AsyncClient, still_node: Node) -> None:
    still_node.cluster._health = lambda: {"database": None, "loop fire": "failed 9 times in a row"}
    await still_node.step("report node")
    (node,) = (await shown(client))["nodes"]
    assert (node["status"], node["problems"]) == ("unwell", ["loop fire failed 9 times in a row"])


async def test_is_for_operators_only(make_tenant: MakeTenant) -> None:
    bob = await make_tenant("bob")
    answer = await bob.admin.get("/v1/cluster")
    assert answer.status_code == 403
    assert "tenant default" in answer.json()["detail"]
