"""Clients of a real node. `client` holds an admin key of the tenant default on a node that stands still."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

import httpx2
import pytest

from live.contract import keeps_the_contract
from support.scripted import ScriptedWorker
from tickwork.api.asgi_app import build_app
from tickwork.config import Settings
from tickwork.node import Node

Connect = Callable[[Node, str | None], Awaitable[httpx2.AsyncClient]]


@pytest.fixture
async def node(settings: Settings) -> AsyncIterator[Node]:
    """A server node that runs by itself."""
    node = Node(settings)
    await node.start()
    yield node
    await node.stop()


def client_of(node: Node, key: str | None) -> httpx2.AsyncClient:
    """A client in the same process that holds the given key; None holds no key."""
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=build_app(node)),
        base_url="http://test",
        headers={"authorization": f"Bearer {key}"} if key else {},
        event_hooks={"response": [keeps_the_contract]},
        timeout=30,
    )


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    async with AsyncExitStack() as stack:

        async def connect(node: Node, key: str | None) -> httpx2.AsyncClient:
            return await stack.enter_async_context(client_of(node, key))

        yield connect


@pytest.fixture
async def client(still_node: Node, connect: Connect) -> httpx2.AsyncClient:
    return await connect(still_node, still_node.first_key)


@pytest.fixture
async def live_client(node: Node, connect: Connect) -> httpx2.AsyncClient:
    return await connect(node, node.first_key)


@pytest.fixture
async def worker(still_node: Node) -> ScriptedWorker:
    """Offers the task `work`, and runs it when told to."""
    return await ScriptedWorker.connect(still_node, tasks=["work"])


class Tenant(NamedTuple):
    id: int
    name: str
    admin: httpx2.AsyncClient


MakeTenant = Callable[[str], Awaitable[Tenant]]


@pytest.fixture
async def make_tenant(still_node: Node, client: httpx2.AsyncClient, connect: Connect) -> MakeTenant:
    async def make(name: str) -> Tenant:
        answer = await client.post("/v1/keys", json={"name": "admin", "scopes": ["admin"], "tenant": name})
        secret = answer.json()["secret"]
        caller = await still_node.keys.authenticate(secret)
        return Tenant(caller.tenant_id, name, await connect(still_node, secret))

    return make
