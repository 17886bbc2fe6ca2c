"""The database is away: the API says so, and goes on as soon as it is back."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import httpx2
import pytest

from api.conftest import Connect
from support.end_sessions import end_sessions
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.node import Node
from tickwork.store.connect_to_any_host import Limits

JOB = {"http": {"url": "https://example.com"}, "schedule": {"in": "1h"}}


@pytest.fixture
async def admin(cluster: str, database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to another database of the same server."""
    connection = await asyncpg.connect(cluster.replace("/tickwork?", "/postgres?"))
    yield connection
    await connection.close()


@pytest.fixture
async def name(connection: asyncpg.Connection) -> str:
    return str(await connection.fetchval("SELECT current_database()"))


async def says_that_it_is_away(client: httpx2.AsyncClient) -> None:
    job = await client.post("/v1/jobs", json=JOB)
    for answer in [
        job,
        await client.get("/v1/jobs"),
        await client.get("/v1/jobs/j1"),
        await client.patch("/v1/jobs/j1", json={"name": "x"}),
        await client.post("/v1/jobs", json=JOB, headers={"idempotency-key": "a"}),
        await client.get("/v1/executions"),
        await client.get("/v1/workers"),
        await client.get("/v1/tasks"),
        await client.post("/v1/schedules/preview", json={"schedule": "every 5m"}),
    ]:
        assert answer.status_code == 503, f"{answer.request.method} {answer.request.url.path}: {answer.text}"
        assert answer.json()["type"] == "/docs/problems/unavailable"
        assert answer.json()["detail"].startswith("the server cannot use its database just now")
        assert int(answer.headers["retry-after"]) > 0
    not_ready = await client.get("/readyz")
    assert not_ready.status_code == 503
    assert not_ready.json()["detail"].startswith("not ready: database")
    assert (await client.get("/livez")).status_code == 200


async def test_a_database_that_lets_nobody_in_is_told_of_until_it_does(
    client: httpx2.AsyncClient, admin: asyncpg.Connection, name: str
) -> None:
    assert (await client.post("/v1/jobs", json=JOB)).status_code == 201
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    await end_sessions(admin, "datname = $1", name)
    await says_that_it_is_away(client)
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    answer = await client.post("/v1/jobs", json=JOB, headers={"idempotency-key": "a"})
    assert answer.status_code == 201
    assert (await client.get("/readyz")).status_code == 200
    assert len((await client.get("/v1/jobs")).json()["items"]) == 2


async def test_a_pool_that_is_closed_is_told_of_until_it_is_open(
    client: httpx2.AsyncClient, still_node: Node
) -> None:
    await client.get("/v1/jobs")
    await still_node._database.close()
    await says_that_it_is_away(client)
    await still_node._database.open()
    assert (await client.post("/v1/jobs", json=JOB)).status_code == 201
    assert (await client.get("/readyz")).status_code == 200


async def test_connections_that_broke_while_idle_are_not_the_next_requests_problem(
    client: httpx2.AsyncClient, admin: asyncpg.Connection, name: str
) -> None:
    for _ in range(3):
        await client.get("/v1/jobs")
        await end_sessions(admin, "datname = $1", name)
        await eventually(lambda: _is_answered(client), within=5)
    assert (await client.post("/v1/jobs", json=JOB)).status_code == 201


async def _is_answered(client: httpx2.AsyncClient) -> bool:
    answer = await client.get("/v1/jobs")
    assert answer.status_code in (200, 503)
    return answer.status_code == 200


async def test_who_waits_too_long_for_a_lock_is_told_to_come_again_and_the_node_stays_ready(
    settings: Settings, connection: asyncpg.Connection, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Limits, "settings", lambda _: {"lock_timeout": "50ms"})
    node = Node(settings)
    await node.open()
    client = await connect(node, node.first_key)
    async with connection.transaction():
        await connection.execute("LOCK TABLE tickwork.job IN EXCLUSIVE MODE")
        answer = await client.post("/v1/jobs", json=JOB)
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert (await client.get("/readyz")).status_code == 200
    assert (await client.post("/v1/jobs", json=JOB)).status_code == 201
    await node.stop()


async def test_metrics_are_given_to_a_key_that_was_valid_before_the_outage(
    client: httpx2.AsyncClient,
    admin: asyncpg.Connection,
    name: str,
    still_node: Node,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tickwork.access.api_keys._CACHE_LIFETIME", 0)
    assert "tickwork_database_usable 1.0" in (await client.get("/metrics")).text
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    await end_sessions(admin, "datname = $1", name)
    assert (await client.get("/v1/jobs")).status_code == 503
    assert "tickwork_database_usable 0.0" in (await client.get("/metrics")).text
    stranger = await connect(still_node, "tw_nobody_has_ever_seen_this_key")
    assert (await stranger.get("/metrics")).status_code == 503
    monkeypatch.setattr("tickwork.access.api_keys._VALID_IN_OUTAGE", 0)
    assert (await client.get("/metrics")).status_code == 503
    await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert (await stranger.get("/metrics")).status_code == 401


async def test_metrics_are_given_while_the_keys_cannot_be_read(
    client: httpx2.AsyncClient, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.access.api_keys._CACHE_LIFETIME", 0)
    monkeypatch.setattr("tickwork.access.api_keys._PATIENCE_IN_OUTAGE", 0.1)
    monkeypatch.setattr("tickwork.node_metrics._MOST_TIME", 0.1)
    await client.get("/metrics")
    async with connection.transaction():
        await connection.execute("LOCK TABLE tickwork.api_key")
        async with asyncio.timeout(5):
            assert (await client.get("/metrics")).status_code == 200


async def test_what_happened_is_for_the_log_and_not_for_the_answer(
    client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    await connection.execute("ALTER TABLE tickwork.job RENAME COLUMN tags TO secret_column")
    answer = await client.post("/v1/jobs", json=JOB)
    assert answer.status_code == 500
    assert answer.json()["detail"] == "the server's log has the reason under this request_id"
    assert "secret_column" not in answer.text
    assert "column" not in answer.text
    assert (await client.get("/readyz")).status_code == 200
