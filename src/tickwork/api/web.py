"""The server around the app: sockets in, requests out, with bounds on both."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from tickwork.api.connection import Connection
from tickwork.model.protocol import LARGEST_MESSAGE

MOST_CONNECTIONS = 1000
_MOST_UNREAD = 1024 * 1024  # bytes of pongs
_IDLE_WITHIN = 30  # seconds: longer than clients keep theirs, so that they close first
_GRACE = 5  # seconds that open requests get to finish


class Web(uvicorn.Server):
    def __init__(self, app: ASGIApp, most_connections: int = MOST_CONNECTIONS) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=type("BoundConnection", (Connection,), {"most_connections": most_connections}),
                ws=WorkerLine,
                ws_max_size=LARGEST_MESSAGE,
                ws_per_message_deflate=False,  # a few bytes could become millions, and our workers do not ask for it
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_keep_alive=_IDLE_WITHIN,
                timeout_graceful_shutdown=_GRACE,
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

    async def on_tick(self, counter: int) -> bool:
        now = asyncio.get_running_loop().time()
        for each in list(self.server_state.connections):
            if isinstance(each, Connection):
                each.check(now)
        return await super().on_tick(counter)


class WorkerLine(WebSocketsSansIOProtocol):
    """A WebSocket that keeps nothing without end for a client that does not read, or never ends its message."""

    def handle_ping(self) -> None:
        super().handle_ping()
        if self.transport.get_write_buffer_size() > _MOST_UNREAD:
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        if event.data or event.fin:
            super().handle_cont(event)
        else:  # they cost time and memory, and say nothing
            self.transport.abort()
