"""Bad input on a node whose database refuses every write: each request is answered clearly all the same, so none of
them takes one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx2
import pytest
import pytest_asyncio
from live.conftest import client_of

from support.scripted import ScriptedWorker
from tickwork.app import Node
from tickwork.config import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"content-type": "application/json"}
PARAMETERS = {
    "type": "object",
    "required": ["to"],
    "additionalProperties": False,
    "properties": {
        "to": {"type": "string"},
        "count": {"type": "integer", "maximum": 10},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx2.AsyncClient]:
    name = "refusing"
    admin = await asyncpg.connect(cluster.replace("/tickwork?", "/postgres?"))
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE tickwork")
    url = cluster.replace("/tickwork?", f"/{name}?")
    node = Node(Settings(database_url=url, data_dir=tmp_path_factory.mktemp("data")))
    await node.open()
    await ScriptedWorker.offer_only(node, {"reports.weekly": PARAMETERS, "broken": {"type": "nonsense"}})
    async with client_of(node, node.first_key) as client:
        await client.post("/v1/jobs", json={"task": "reports.weekly", "payload": {"to": "ann"}})
        await admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
        yield client
        assert (await client.get("/v1/jobs")).status_code == 200
        assert (await client.post("/v1/jobs", json={"http": {"url": "https://a.b"}})).status_code == 503
    await node.stop()
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


async def refused(answer: httpx2.Response, slug: str, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert problem["type"] == f"/docs/problems/{slug}"
    assert len(answer.content) < 20_000
    return problem


async def bad_fields(answer: httpx2.Response) -> dict[str, tuple[str, str | None]]:
    problem = await refused(answer, "invalid-request", 422)
    return {error["path"]: (error["message"], error["hint"]) for error in problem["errors"]}
