"""One HTTP connection with bounds: on the head of a request, on the time a client may take, on what is read of a body
that nobody wants.

uvicorn bounds none of these. It gives one object of this class to each connection and calls it as bytes come.
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
BODY_RATE = 16 * 1024  # bytes for which a body gets a second more
READ_WITHIN = 60.0  # by a client of what it was sent
MOST_DISCARDED = 64 * 1024 * 1024  # bytes of a body after its answer
DISCARD_WITHIN = 30.0
MOST_PIPELINED = 16
_BETWEEN_WARNINGS = 10.0

_log = structlog.get_logger("tickwork.http")


class Connection(HttpToolsProtocol):
    most_connections: float = inf
    _warned_at = -inf

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._until = inf  # by then the client must have sent what it is waited for
        self._read_until = inf  # by then it must have read some of what it was sent
        self._since_progress = 0  # bytes that were no body
        self._head_size = 0
        self._headers = 0
        self._in_body = False
        self._discarded = 0
        self._deaf = False  # the answer is given, and the client only needs the time to read it
        self._unread: float = inf
        self._fault: Refusal | None = None

    # What comes in

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
            self._refuse(self._fault or Refusal(BROKEN_HEAD, "this is not HTTP as RFC 9112 has it"))
        else:
            if self._since_progress > LARGEST_HEAD:
                self._refuse(_head_too_large())

    def _upgrade(self) -> None:
        if self._should_upgrade():
            self.handle_websocket_upgrade()
        else:
            self.cycle.keep_alive = False  # it is answered as it is, and the parser reads no further

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
            return  # a trailer: nothing that counts may come so late
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            self._fail(Refusal(BROKEN_HEAD, f"at most {MOST_PIPELINED} requests wait for their answers"))
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

    # What goes out

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # the one that came last
            self._allow(DISCARD_WITHIN if self._in_body else self.timeout_keep_alive)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_until = self.loop.time() + READ_WITHIN

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_until = inf

    def leave(self) -> None:
        """Close, but not before the client has sent what it is sending: it would see a reset instead of its answer."""
        if not self._in_body or self.transport.is_closing():
            self.transport.close()
            return
        self._deaf = True
        self._allow(DISCARD_WITHIN)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    # Time

    def check(self, now: float) -> None:
        """Called again and again, as time goes by."""
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
        """Until when it is waited for the client; for ever when the client waits for us."""
        return min(self._until, self._read_until)

    def _is_being_read(self, now: float) -> bool:
        """Whether less is left for the client to read than when this was last asked."""
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
        """By the connection that is waited for, and has been the longest."""
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
        """From within the parser, which ends by it."""
        self._fault = refusal
        raise refusal

    def _refuse(self, refusal: Refusal) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            if not self._in_body or self.cycle.response_started:
                self.transport.abort()  # the answer to another request is due, or half of the one to this is given
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(_raw(refusal))
        self._in_body = True  # or whatever it is that still comes
        self.leave()

    def _discard(self, size: int) -> None:
        self._discarded += size
        if self._discarded > MOST_DISCARDED:
            self.transport.abort()


class _Exit:
    """The transport as the answer to one request knows it: leaving takes more than closing it."""

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
