"""A server node with its HTTP side, in this process."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from tickwork.api.server import build_app
from tickwork.app import Node
from tickwork.cli.database import once_there
from tickwork.cli.loop import Stop
from tickwork.config import Settings
from tickwork.model.errors import TickworkError

_GRACE = 5  # seconds that open requests get to finish
_BACKLOG = 1024
_LARGEST_MESSAGE = 256 * 1024 * 1024  # a worker that was away for long has much to report


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
async def answering(node: Node, listener: socket.socket) -> AsyncIterator[None]:
    web = _Web(node)
    running = asyncio.create_task(web.serve(sockets=[listener]))
    await web.ready.wait()
    try:
        yield
    finally:
        node.end_streams()
        web.should_exit = True
        await running


class _Web(uvicorn.Server):
    def __init__(self, node: Node) -> None:
        super().__init__(
            uvicorn.Config(
                build_app(node),
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=_GRACE,
                ws_max_size=_LARGEST_MESSAGE,
                server_header=False,
            )
        )
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are for the command: there is more to stop than this."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
