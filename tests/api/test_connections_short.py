"""The database server lets nobody else in: requests are told so, and it goes on by itself."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from structlog.testing import capture_logs

from api.conftest import Connect
from support.end_sessions import end_sessions
from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.node import Node

JOB = {"http": {"url": "https://example.com"}, "schedule": {"in": "1h"}}
_ALLOWED = 12


@pytest.fixture
async def postgres(tmp_path: Path) -> AsyncIterator[StoppablePostgres]:
    postgres = StoppablePostgres(tmp_path / "small")
    await asyncio.to_thread(postgres.start)
    admin = await asyncpg.connect(postgres.url)
    await admin.execute(f"ALTER SYSTEM SET max_connections = {_ALLOWED}")
    await admin.execute("ALTER SYSTEM SET superuser_reserved_connections = 0")
    await admin.close()
    await postgres.halt("fast")
    await postgres.resume()
    yield postgres
    await asyncio.to_thread(postgres.stop)


async def test_a_server_without_a_connection_to_spare_is_named_as_the_cause(
    postgres: StoppablePostgres, tmp_path: Path, connect: Connect
) -> None:
    node = Node(Settings(database_url=postgres.url, data_dir=tmp_path, http=False))
    await node.open()
    client = await connect(node, node.first_key)
    assert (await client.post("/v1/jobs", json=JOB)).status_code == 201
    others = await _take_all(postgres.url)
    await end_sessions(others[0], "application_name = 'tickwork'")
    others += await _take_all(postgres.url)
    with capture_logs() as logs:
        answers = [await client.post("/v1/jobs", json=JOB) for _ in range(3)]
        not_ready = await client.get("/readyz")
    assert [answer.status_code for answer in answers] == [503] * 3
    assert {answer.headers["retry-after"] for answer in answers} == {"2"}
    assert answers[0].json()["detail"].endswith("it has no connection to spare")
    assert not_ready.json()["detail"] == "not ready: database has no connection to spare"
    assert len([line for line in logs if line["event"].endswith("it has no connection to spare")]) == 1
    for other in others:
        await other.close()
    await eventually(lambda: _is_taken(client), within=30, what="a job that is taken")
    await node.stop()


async def _take_all(url: str) -> list[asyncpg.Connection]:
    taken: list[asyncpg.Connection] = []
    while True:
        try:
            taken.append(await asyncpg.connect(url))
        except asyncpg.TooManyConnectionsError:
            return taken


async def _is_taken(client: httpx2.AsyncClient) -> bool:
    return (await client.post("/v1/jobs", json=JOB)).status_code == 201
