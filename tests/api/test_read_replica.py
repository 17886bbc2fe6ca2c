"""Lists may be read from a replica, decisions never; the primary answers when the replica is away or far behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import httpx2
import pytest

from api.conftest import Connect
from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually
from tickwork.api.asgi_app import ROUTES
from tickwork.config import Settings
from tickwork.node import Node
from tickwork.store import read_replica

JOB = {"http": {"url": "https://example.com"}, "schedule": {"in": "1h"}}
_WITHIN = 30.0
_READ_FROM = "tickwork-read-from"
LISTS = ["/v1/jobs", "/v1/executions", "/v1/stats", "/v1/overview", "/v1/upcoming", "/v1/dead-letters"]


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[tuple[StoppablePostgres, StoppablePostgres]]:
    async with AsyncExitStack() as running:
        primary, standby = (StoppablePostgres(tmp_path / each) for each in ("primary", "standby"))
        await asyncio.to_thread(primary.start)
        running.push_async_callback(asyncio.to_thread, primary.stop)
        await asyncio.to_thread(standby.follow, primary)
        running.push_async_callback(asyncio.to_thread, standby.stop)
        yield primary, standby


@pytest.fixture
async def node(servers: tuple[StoppablePostgres, StoppablePostgres], tmp_path: Path) -> AsyncIterator[Node]:
    primary, standby = servers
    node = Node(Settings(database_url=primary.url, read_url=standby.url, data_dir=tmp_path, http=False))
    await node.open()
    yield node
    await node.stop()


@pytest.fixture
async def client(node: Node, connect: Connect) -> httpx2.AsyncClient:
    return await connect(node, node.first_key)


async def _replica_is_usable(node: Node) -> bool:
    await node.step("report node")
    await node.step("watch replica")
    replica = (await node.cluster.view()).replica
    return replica is not None and replica.usable


async def test_lists_are_read_from_the_replica_and_say_so(node: Node, client: httpx2.AsyncClient) -> None:
    created = (await client.post("/v1/jobs", json=JOB)).json()
    assert _READ_FROM not in (await client.get("/v1/jobs")).headers  # nobody has looked at the replica yet
    await eventually(lambda: _replica_is_usable(node), within=_WITHIN, what="a replica to read from")
    for path in LISTS:
        answer = await client.get(path)
        assert (answer.status_code, answer.headers.get(_READ_FROM)) == (200, "replica"), path
    await eventually(lambda: _lists(client, created["id"]), within=_WITHIN, what="the job on the replica")
    shown = await client.get(f"/v1/jobs/{created['id']}")
    assert _READ_FROM not in shown.headers


async def _lists(client: httpx2.AsyncClient, job: str) -> bool:
    return [each["id"] for each in (await client.get("/v1/jobs")).json()["items"]] == [job]


async def test_the_primary_answers_when_the_replica_is_away_and_the_cluster_says_why(
    node: Node, client: httpx2.AsyncClient, servers: tuple[StoppablePostgres, StoppablePostgres]
) -> None:
    await eventually(lambda: _replica_is_usable(node), within=_WITHIN, what="a replica to read from")
    await servers[1].halt("immediate")
    answer = await client.get("/v1/jobs")  # before anybody has looked
    assert (answer.status_code, answer.headers.get(_READ_FROM)) == (200, None)
    await node.step("watch replica")
    shown = (await client.get("/v1/cluster")).json()["replica"]
    assert (shown["usable"], shown["problem"]) == (False, "cannot be reached")
    await servers[1].resume()
    await eventually(lambda: _replica_is_usable(node), within=_WITHIN, what="a replica to read from again")


async def test_the_primary_answers_when_the_replica_cannot_run_a_statement_and_the_cluster_says_why(
    node: Node, client: httpx2.AsyncClient, servers: tuple[StoppablePostgres, StoppablePostgres]
) -> None:
    """During an upgrade it may lack what the primary has. Here it is a server of its own that lacks a table."""
    await eventually(lambda: _replica_is_usable(node), within=_WITHIN, what="a replica to read from")
    await servers[1].promote()
    there = await asyncpg.connect(servers[1].url)
    await there.execute("ALTER TABLE tickwork.job RENAME TO other")
    await there.execute("ALTER TABLE tickwork.node RENAME TO another")
    await there.close()
    answer = await client.get("/v1/jobs")
    assert (answer.status_code, answer.headers.get(_READ_FROM)) == (200, None)
    await node.step("watch replica")
    shown = (await client.get("/v1/cluster")).json()["replica"]
    assert (shown["usable"], shown["problem"]) == (False, "refuses a statement: UndefinedTableError")


async def test_the_primary_answers_when_the_replica_is_too_far_behind(
    node: Node, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await eventually(lambda: _replica_is_usable(node), within=_WITHIN, what="a replica to read from")
    monkeypatch.setattr(read_replica, "MOST_BEHIND", -1.0)
    await node.step("watch replica")
    assert _READ_FROM not in (await client.get("/v1/jobs")).headers
    assert (await client.get("/v1/cluster")).json()["replica"]["problem"] == "is too far behind"


def test_only_what_lists_and_counts_may_be_stale() -> None:
    stale = {route.path for route in ROUTES if route.may_be_stale}
    assert {route.method for route in ROUTES if route.may_be_stale} == {"GET"}
    assert not any(path.endswith("{id}") for path in stale)
    assert set(LISTS) <= stale
