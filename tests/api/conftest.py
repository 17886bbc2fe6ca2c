"""Clients of a node. `client` holds an admin key of the tenant default on a node that does nothing by itself.

Each test has a node and a database of its own. The `shared_…` fixtures give one to all tests of a module, for tests
that leave nothing behind that another one would see. Such a module runs on one event loop:

    pytestmark = pytest.mark.asyncio(loop_scope="module")
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

import httpx2
import pytest
import pytest_asyncio

from api.openapi_contract import keeps_the_contract
from tickwork.api.asgi_app import build_app
from tickwork.api.http_server_with_limits import HttpServer
from tickwork.config import Settings
from tickwork.model.access import Scope
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker
from tickwork.testing.temporary_postgres import TemporaryPostgres

SHARED_ADMIN_KEY = "tw_admin_key_of_the_shared_node"
SHARED_TASKS = ("report", "work", r"a\u0000")  # of any parameters
Connect = Callable[[Node, str | None], Awaitable[httpx2.AsyncClient]]


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


ConnectWith = Callable[[Scope], Awaitable[httpx2.AsyncClient]]


@pytest.fixture
async def connect_with(still_node: Node, connect: Connect) -> ConnectWith:
    """Makes a client whose key has only the given scope."""

    async def connect_with(scope: Scope) -> httpx2.AsyncClient:
        return await connect(still_node, await make_key(still_node, scope))

    return connect_with


async def make_key(node: Node, scope: Scope) -> str:
    """The secret of a new key of the tenant default."""
    _, secret = await node.keys.create(await node.keys.operator(), str(scope), [scope])
    return secret


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_node(
    postgres: TemporaryPostgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Node]:
    """A node that does nothing unless told to, for all tests of a module."""
    url = await postgres.create_database()
    node = Node(
        Settings(database_url=url, data_dir=tmp_path_factory.mktemp("data"), admin_key=SHARED_ADMIN_KEY)
    )
    await node.open()
    await ScriptedWorker.offer_only(node, {task: {} for task in SHARED_TASKS})
    yield node
    await node.stop()
    await postgres.drop_database(url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_client(shared_node: Node) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(shared_node, SHARED_ADMIN_KEY) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_keys(shared_node: Node) -> dict[Scope, str]:
    """The secret of a key of each scope."""
    return {scope: await make_key(shared_node, scope) for scope in Scope}


Serve = Callable[..., Awaitable[str]]


@pytest_asyncio.fixture(loop_scope="module")
async def serve(shared_node: Node) -> AsyncIterator[Serve]:
    """Starts the shared node's API under a real server on a real socket, and gives its address."""
    servers: list[tuple[HttpServer, asyncio.Task[None]]] = []

    async def start(**options: int) -> str:
        listener = socket.create_server(("127.0.0.1", 0))  # takes connections before the server is up
        server = HttpServer(build_app(shared_node), **options)
        servers.append((server, asyncio.create_task(server.serve([listener]))))
        return "{}:{}".format(*listener.getsockname())

    yield start
    for server, serving in servers:
        server.should_exit = True
        await serving


@pytest_asyncio.fixture(loop_scope="module")
async def address(serve: Serve) -> str:
    return await serve()
