"""The HTTP server: uvicorn with limits on what clients may send, and how long they may take.

`Connection` limits the head of a request, the time for head, body and reading the response, and the bytes read of a
body that is not wanted. uvicorn limits none of these. `WorkerLine` does the same for the WebSockets of workers. `Web`
is the server that uses both.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from secrets import token_hex
from typing import Any

import httptools
import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from tickwork.api.problem import (
    BROKEN_HEAD,
    HEAD_TOO_LARGE,
    TIMED_OUT,
    TOO_MANY_CONNECTIONS,
    TRY_AGAIN,
    Refusal,
)
from tickwork.api.reply import head
from tickwork.model.worker_protocol import LARGEST_MESSAGE

LARGEST_HEAD = 64 * 1024  # bytes
MOST_HEADERS = 100
HEAD_WITHIN = 20.0  # seconds
BODY_WITHIN = 20.0
BODY_RATE = 16 * 1024  # bytes per second: a body gets a second more for each of these
READ_WITHIN = 60.0  # for a client to read some of its response
MOST_DISCARDED = 64 * 1024 * 1024  # bytes of a body that come after its response
DISCARD_WITHIN = 30.0
MOST_PIPELINED = 16
_BETWEEN_WARNINGS = 10.0

_log = structlog.get_logger("tickwork.http")


class Connection(HttpToolsProtocol):
    most_connections: float = inf
    _warned_at = -inf

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._until = inf  # the client must have sent the rest of its head or body by then
        self._read_until = inf  # the client must have read some of its response by then
        self._since_progress = 0  # bytes other than body since the last head or body
        self._head_size = 0
        self._headers = 0
        self._in_body = False
        self._discarded = 0
        self._deaf = False  # the response is sent: whatever still comes is discarded
        self._unread: float = inf
        self._fault: Refusal | None = None

    # Receiving

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._allow(HEAD_WITHIN)
        if len(self.connections) > self.most_connections and not self._make_room():
            self._turn_away()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            self._discard(len(data))
            return
        self._unset_keepalive_if_required()
        self._since_progress += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._upgrade()
        except httptools.HttpParserError:
            self._refuse(self._fault or Refusal(BROKEN_HEAD, "this is not valid HTTP (RFC 9112)"))
        else:
            if self._since_progress > LARGEST_HEAD:
                self._refuse(_head_too_large())

    def _upgrade(self) -> None:
        if self._should_upgrade():
            self.handle_websocket_upgrade()
        else:
            self.cycle.keep_alive = (
                False  # answer the request without the upgrade; the parser reads no further
            )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_size = self._headers = 0
        self._allow(HEAD_WITHIN)

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers += 1
        self._count(len(name) + len(value))
        if self._in_body:
            return  # trailers are ignored
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            self._fail(Refusal(BROKEN_HEAD, f"at most {MOST_PIPELINED} requests may wait for their answers"))
        self._progress()
        self._in_body = True
        self._discarded = 0
        self._allow(BODY_WITHIN)
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.transport = _Exit(self)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._progress()
        self._until += len(body) / BODY_RATE
        if self.cycle.response_complete:
            self._discard(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._progress()
        self._in_body = False
        self._until = inf
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self._allow(self.timeout_keep_alive)

    # Sending

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # of the latest request
            self._allow(DISCARD_WITHIN if self._in_body else self.timeout_keep_alive)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_until = self.loop.time() + READ_WITHIN

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_until = inf

    def leave(self) -> None:
        """Close once the client has sent its body: closed earlier, it would see a reset instead of its response."""
        if not self._in_body or self.transport.is_closing():
            self.transport.close()
            return
        self._deaf = True
        self._allow(DISCARD_WITHIN)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # Timeouts

    def check(self, now: float) -> None:
        """Called about ten times a second."""
        if now < self.patience or self._is_being_read(now):
            return
        if self._deaf or self.transport.is_closing() or self._is_answered or now >= self._read_until:
            self.transport.abort()
        elif self._has_begun:
            self._refuse(Refusal(TIMED_OUT, "the request did not come in time"))
        else:
            self.transport.close()

    @property
    def patience(self) -> float:
        """The time until which the server waits for the client; infinite while the client waits for the server."""
        return min(self._until, self._read_until)

    def _is_being_read(self, now: float) -> bool:
        """Whether the client has read some of its response since the last call."""
        before, self._unread = self._unread, self.transport.get_write_buffer_size()
        if not 0 < self._unread < before:
            return False
        self._until = self._read_until = now + READ_WITHIN
        return True

    @property
    def _is_answered(self) -> bool:
        return self.cycle is not None and self.cycle.response_started

    @property
    def _has_begun(self) -> bool:
        return self._in_body or self._since_progress > 0

    def _allow(self, seconds: float) -> None:
        self._until = self.loop.time() + seconds

    def _progress(self) -> None:
        self._since_progress = 0

    def _make_room(self) -> bool:
        """Close the connection whose client is the most overdue, if the server waits for any."""
        others = [each for each in self.connections if isinstance(each, Connection) and each is not self]
        idlest = min(others, key=lambda each: each.patience, default=None)
        if idlest is None or idlest.patience == inf:
            return False
        idlest.transport.abort()
        self.connections.discard(idlest)
        return True

    # Refusals

    def _turn_away(self) -> None:
        refusal = Refusal(TOO_MANY_CONNECTIONS, "all connections are in use", headers=TRY_AGAIN)
        self.transport.write(_raw(refusal))
        self.transport.close()
        if self.loop.time() > Connection._warned_at + _BETWEEN_WARNINGS:
            Connection._warned_at = self.loop.time()
            _log.warning(
                "connections are turned away: max_connections are in use", most=self.most_connections
            )

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > LARGEST_HEAD or self._headers > MOST_HEADERS:
            self._fail(_head_too_large())

    def _fail(self, refusal: Refusal) -> None:
        """Stops the parser, from within one of its callbacks."""
        self._fault = refusal
        raise refusal

    def _refuse(self, refusal: Refusal) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            if not self._in_body or self.cycle.response_started:
                self.transport.abort()  # an earlier request is not answered yet, or the response has begun
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(_raw(refusal))
        self._in_body = True  # whatever still comes is discarded like a body
        self.leave()

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > MOST_DISCARDED:
            self.transport.abort()


class _Exit:
    """The transport that a response sees: closing it first waits for the rest of the request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing

    def close(self) -> None:
        self._connection.leave()


def _head_too_large() -> Refusal:
    return Refusal(
        HEAD_TOO_LARGE, f"a request may have {MOST_HEADERS} headers, of {LARGEST_HEAD // 1024} KiB in all"
    )


def _raw(refusal: Refusal) -> bytes:
    request_id = token_hex(12)
    reply = refusal.reply(request_id)
    start = head(reply, request_id)
    headers = [*start["headers"], (b"connection", b"close")]
    lines = [b"%b: %b\r\n" % each for each in headers]
    return b"".join([STATUS_LINE[reply.status], *lines, b"\r\n", reply.body])


MOST_CONNECTIONS = 1000
_MOST_UNREAD = 1024 * 1024  # bytes of pongs
_IDLE_WITHIN = 30  # seconds: longer than clients keep idle connections, so that they close first
_GRACE = 5  # seconds for open requests to finish on shutdown


class Web(uvicorn.Server):
    def __init__(self, app: ASGIApp, most_connections: int = MOST_CONNECTIONS) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=type("BoundConnection", (Connection,), {"most_connections": most_connections}),
                ws=WorkerLine,
                ws_max_size=LARGEST_MESSAGE,
                ws_per_message_deflate=False,  # a few bytes could inflate to millions, and our workers do not compress
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
        """The command handles signals: it stops more than this server."""
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
    """A WebSocket with limits for clients that do not read, or never end their message."""

    def handle_ping(self) -> None:
        super().handle_ping()
        if self.transport.get_write_buffer_size() > _MOST_UNREAD:
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        if event.data or event.fin:
            super().handle_cont(event)
        else:  # empty fragments cost time and memory and carry nothing
            self.transport.abort()
