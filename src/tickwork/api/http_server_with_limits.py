"""The HTTP server: uvicorn with limits on what clients may send, and how long they may take.

`BoundedConnection` limits the head of a request, the time for sending head and body and for reading the response, and
the bytes read of a body that is not wanted. uvicorn limits none of these. `BoundedWebSocket` adds limits to the
WebSockets of workers. `HttpServer` is the server that uses both.
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
from tickwork.api.reply import response_start
from tickwork.model.worker_protocol import LARGEST_MESSAGE

MAX_HEAD_BYTES = 64 * 1024  # bytes
MAX_HEADERS = 100
HEAD_TIMEOUT = 20.0  # seconds
BODY_TIMEOUT = 20.0
BODY_RATE = 16 * 1024  # bytes per second: a body gets a second more for each of these
READ_TIMEOUT = 60.0  # for a client to read some of its response
MAX_DISCARDED_BYTES = 64 * 1024 * 1024  # bytes of a body that come after its response
DISCARD_TIMEOUT = 30.0
MAX_PIPELINED_REQUESTS = 16
_WARNING_INTERVAL = 10.0

_log = structlog.get_logger("tickwork.http")


class BoundedConnection(HttpToolsProtocol):
    max_connections: float = inf
    _warned_at = -inf

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline = inf  # the client must have sent the rest of its head or body by then
        self._read_deadline = inf  # the client must have read some of its response by then
        self._since_progress = 0  # bytes other than body since the last head or body
        self._head_size = 0
        self._headers = 0
        self._in_body = False
        self._discarded = 0
        self._discards_all = False  # the response is sent: further bytes are discarded
        self._unread: float = inf
        self._refusal: Refusal | None = None

    # Receiving

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for(HEAD_TIMEOUT)
        if len(self.connections) > self.max_connections and not self._close_idlest():
            self._refuse_connection()

    def data_received(self, data: bytes) -> None:
        if self._discards_all:
            self._discard(len(data))
            return
        self._unset_keepalive_if_required()
        self._since_progress += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._upgrade()
        except httptools.HttpParserError:
            self._refuse(self._refusal or Refusal(BROKEN_HEAD, "this is not valid HTTP (RFC 9112)"))
        else:
            if self._since_progress > MAX_HEAD_BYTES:
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
        self._wait_for(HEAD_TIMEOUT)

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
        if len(self.pipeline) >= MAX_PIPELINED_REQUESTS:
            self._fail(
                Refusal(BROKEN_HEAD, f"at most {MAX_PIPELINED_REQUESTS} requests may wait for their answers")
            )
        self._progress()
        self._in_body = True
        self._discarded = 0
        self._wait_for(BODY_TIMEOUT)
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.transport = _TransportOfResponse(self)  # type: ignore[assignment]

    def on_body(self, body: bytes) -> None:
        self._progress()
        self._deadline += len(body) / BODY_RATE
        if self.cycle.response_complete:
            self._discard(len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._progress()
        self._in_body = False
        self._deadline = inf
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self._wait_for(self.timeout_keep_alive)

    # Sending

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # of the latest request
            self._wait_for(DISCARD_TIMEOUT if self._in_body else self.timeout_keep_alive)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_deadline = self.loop.time() + READ_TIMEOUT

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_deadline = inf

    def close_after_body(self) -> None:
        """Close once the client has sent its body: closed earlier, it would see a reset instead of its response."""
        if not self._in_body or self.transport.is_closing():
            self.transport.close()
            return
        self._discards_all = True
        self._wait_for(DISCARD_TIMEOUT)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # Timeouts

    def check(self, now: float) -> None:
        """Called about ten times a second."""
        if now < self.deadline or self._is_being_read(now):
            return
        if (
            self._discards_all
            or self.transport.is_closing()
            or self._is_answered
            or now >= self._read_deadline
        ):
            self.transport.abort()
        elif self._has_begun:
            self._refuse(Refusal(TIMED_OUT, "the request did not come in time"))
        else:
            self.transport.close()

    @property
    def deadline(self) -> float:
        """The time until which the server waits for the client; infinite while the client waits for the server."""
        return min(self._deadline, self._read_deadline)

    def _is_being_read(self, now: float) -> bool:
        """Whether the client has read some of its response since the last call."""
        before, self._unread = self._unread, self.transport.get_write_buffer_size()
        if not 0 < self._unread < before:
            return False
        self._deadline = self._read_deadline = now + READ_TIMEOUT
        return True

    @property
    def _is_answered(self) -> bool:
        return self.cycle is not None and self.cycle.response_started

    @property
    def _has_begun(self) -> bool:
        return self._in_body or self._since_progress > 0

    def _wait_for(self, seconds: float) -> None:
        self._deadline = self.loop.time() + seconds

    def _progress(self) -> None:
        self._since_progress = 0

    def _close_idlest(self) -> bool:
        """Close the connection whose client is the most overdue, if the server waits for any."""
        others = [
            each for each in self.connections if isinstance(each, BoundedConnection) and each is not self
        ]
        idlest = min(others, key=lambda each: each.deadline, default=None)
        if idlest is None or idlest.deadline == inf:
            return False
        idlest.transport.abort()
        self.connections.discard(idlest)
        return True

    # Refusals

    def _refuse_connection(self) -> None:
        refusal = Refusal(TOO_MANY_CONNECTIONS, "all connections are in use", headers=TRY_AGAIN)
        self.transport.write(_raw(refusal))
        self.transport.close()
        if self.loop.time() > BoundedConnection._warned_at + _WARNING_INTERVAL:
            BoundedConnection._warned_at = self.loop.time()
            _log.warning("new connections are refused: max_connections are in use", most=self.max_connections)

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEAD_BYTES or self._headers > MAX_HEADERS:
            self._fail(_head_too_large())

    def _fail(self, refusal: Refusal) -> None:
        """Stops the parser, from within one of its callbacks."""
        self._refusal = refusal
        raise refusal

    def _refuse(self, refusal: Refusal) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            if not self._in_body or self.cycle.response_started:
                self.transport.abort()  # an earlier request is not answered yet, or the response has begun
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(_raw(refusal))
        self._in_body = True  # further bytes are discarded like a body
        self.close_after_body()

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > MAX_DISCARDED_BYTES:
            self.transport.abort()


class _TransportOfResponse:
    """The transport that a response sees: closing it first waits for the rest of the request."""

    def __init__(self, connection: BoundedConnection) -> None:
        self._connection = connection
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing

    def close(self) -> None:
        self._connection.close_after_body()


def _head_too_large() -> Refusal:
    return Refusal(
        HEAD_TOO_LARGE, f"a request may have {MAX_HEADERS} headers, of {MAX_HEAD_BYTES // 1024} KiB in all"
    )


def _raw(refusal: Refusal) -> bytes:
    request_id = token_hex(12)
    reply = refusal.reply(request_id)
    start = response_start(reply, request_id)
    headers = [*start["headers"], (b"connection", b"close")]
    lines = [b"%b: %b\r\n" % each for each in headers]
    return b"".join([STATUS_LINE[reply.status], *lines, b"\r\n", reply.body])


MAX_CONNECTIONS = 1000
_MAX_UNREAD_BYTES = 1024 * 1024  # bytes of pongs
_IDLE_TIMEOUT = 30  # seconds: longer than clients keep idle connections, so that they close first
_SHUTDOWN_TIMEOUT = 5  # seconds for open requests to finish on shutdown


class HttpServer(uvicorn.Server):
    def __init__(self, app: ASGIApp, max_connections: int = MAX_CONNECTIONS) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=type("BoundedConnection", (BoundedConnection,), {"max_connections": max_connections}),
                ws=BoundedWebSocket,
                ws_max_size=LARGEST_MESSAGE,
                ws_per_message_deflate=False,  # a few bytes could inflate to millions, and our workers do not compress
                lifespan="off",
                log_config=None,
                access_log=False,
                timeout_keep_alive=_IDLE_TIMEOUT,
                timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT,
                server_header=False,
                proxy_headers=False,  # access/trusted_proxies.py reads them, for proxies that the operator trusts
            )
        )
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The command handles signals: it stops more than this server."""
        yield

    def close_after_answers(self) -> None:
        """Tell clients with each answer to come back on another connection, which may lead to another node."""
        self.config.encoded_headers.append((b"connection", b"close"))
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def on_tick(self, counter: int) -> bool:
        now = asyncio.get_running_loop().time()
        for each in list(self.server_state.connections):
            if isinstance(each, BoundedConnection):
                each.check(now)
        return await super().on_tick(counter)


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket with limits for clients that do not read, or never end their message."""

    def handle_ping(self) -> None:
        super().handle_ping()
        if self.transport.get_write_buffer_size() > _MAX_UNREAD_BYTES:
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        if event.data or event.fin:
            super().handle_cont(event)
        else:  # empty fragments cost time and memory and carry nothing
            self.transport.abort()
