"""A server node with its HTTP side, in this process."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tickwork.api.server import build_app
from tickwork.api.web import MOST_CONNECTIONS, Web
from tickwork.app import Node
from tickwork.cli.database import once_there
from tickwork.cli.loop import Stop
from tickwork.config import Settings
from tickwork.model.errors import TickworkError

_BACKLOG = 1024


class PortTaken(TickworkError):
    pass


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"port {port} is taken by another program; choose another with --port") from None
        raise TickworkError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def url_of(listener: socket.socket) -> str:
    """Where the listener is reached from this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (recognised, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def working(settings: Settings, stop: Stop) -> AsyncIterator[Node]:
    async def start() -> Node:
        node = Node(settings)
        await node.start()
        return node

    node = await once_there(start, settings.wait_for_database, stop)
    try:
        yield node
    finally:
        await node.stop()


@asynccontextmanager
async def answering(
    node: Node, listener: socket.socket, most_connections: int = MOST_CONNECTIONS
) -> AsyncIterator[None]:
    web = Web(build_app(node), most_connections)
    running = asyncio.create_task(web.serve(sockets=[listener]))
    await web.ready.wait()
    try:
        yield
    finally:
        node.end_streams()
        web.should_exit = True
        await running
