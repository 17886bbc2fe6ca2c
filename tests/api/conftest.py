import asyncio
import socket

import httpx2
import pytest
from paper_node import PaperNode

from tickwork.api.asgi_app import build_app
from tickwork.api.http_server import Web


@pytest.fixture
def node():
    return PaperNode()


@pytest.fixture
def caller(node):
    """Makes a client that holds the key of the given scope; None holds no key."""
    app = build_app(node)

    def client(key="admin"):
        headers = {"authorization": f"Bearer {key}"} if key else {}
        transport = httpx2.ASGITransport(app=app)
        return httpx2.AsyncClient(transport=transport, base_url="http://test", headers=headers)

    return client


@pytest.fixture
async def client(caller):
    async with caller() as client:
        yield client


@pytest.fixture
async def serve(node):
    """Starts the app under a real server on a real socket, and tells where."""
    servers = []

    async def start(**options):
        listener = socket.create_server(("127.0.0.1", 0))  # takes connections before the server is up
        server = Web(build_app(node), **options)
        servers.append((server, asyncio.create_task(server.serve([listener]))))
        return "{}:{}".format(*listener.getsockname())

    yield start
    for server, serving in servers:
        server.should_exit = True
        await serving


@pytest.fixture
async def address(serve):
    return await serve()
