"""/workers/connect: accepts the WebSocket of a worker and hands it to the gateway."""

from contextlib import suppress

import structlog
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected, WebSocketState

from tickwork.api.auth import authenticate, require
from tickwork.api.handle_request import origin_of
from tickwork.api.problem import Refusal, refusal_for
from tickwork.api.repeated_headers_and_request_id import check_headers, request_id_of
from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.access import Caller, Scope
from tickwork.model.errors import TickworkError, Unavailable
from tickwork.node import Node

PATH = "/v1/workers/connect"
_ENDED, _NOT_BINARY, _REFUSED, _FAILED, _TRY_LATER = 1000, 1003, 1008, 1011, 1013
_MAX_REASON_BYTES = 123  # bytes, by RFC 6455
_log = structlog.get_logger("tickwork.gateway")


class WorkerSocketApp:
    """The ASGI app for the WebSockets of workers."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._refusals = LogRateLimit(_log.warning, "worker refused")

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        try:
            caller = await self._admitted(socket)
        except Exception as error:  # noqa: BLE001 (a worker must be answered, and must not stop the server)
            if isinstance(error, Refusal):
                self._log_refusal(socket, error)
            await _deny(socket, error)
        else:
            await socket.accept()
            await self._attend(caller, WorkerSocket(socket))

    async def _admitted(self, socket: WebSocket) -> Caller:
        headers = dict(socket.scope["headers"])
        check_headers(socket.scope, headers)
        if not self._node.gateway.accepts_workers:
            raise Unavailable("this server is stopping: connect to another one")
        caller = await authenticate(self._node, headers)
        require(caller, Scope.WORKER)
        return caller

    def _log_refusal(self, socket: WebSocket, error: Refusal) -> None:
        address = origin_of(self._node, socket.scope, dict(socket.scope["headers"])).address
        if self._refusals.admits(address):
            _log.warning("worker refused", reason=error.detail, address=address)

    async def _attend(self, caller: Caller, socket: "WorkerSocket") -> None:
        try:
            await self._node.gateway.attend(caller, socket)
            await socket.close(_ENDED, "")
        except ConnectionError:
            pass  # the worker has disconnected
        except Unavailable:
            await socket.close(_TRY_LATER, "the server is not available at the moment")
        except TickworkError as error:
            await socket.close(_REFUSED, str(error))
        except Exception:  # noqa: BLE001 (likewise)
            _log.exception("worker connection failed", tenant_id=caller.tenant_id, key_id=caller.key_id)
            await socket.close(_FAILED, "the server failed; its log has the reason")


class WorkerSocket:
    """A WebSocket as the gateway uses it: whole binary messages, then None."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> bytes | None:
        try:
            message = await self._socket.receive()
        except WebSocketDisconnected:
            return None
        if message["type"] == "websocket.disconnect":
            return None
        data: bytes | None = message.get("bytes")
        if data is None:
            await self.close(_NOT_BINARY, "send binary messages")
        return data

    async def send(self, message: bytes) -> None:
        try:
            await self._socket.send_bytes(message)
        except (WebSocketDisconnect, WebSocketDisconnected):
            raise ConnectionResetError("the worker is gone") from None

    async def close(self, code: int, reason: str) -> None:
        """Does nothing if either side has closed already."""
        states = (self._socket.client_state, self._socket.application_state)
        if states == (WebSocketState.CONNECTED, WebSocketState.CONNECTED):
            with suppress(WebSocketDisconnect):
                await self._socket.close(code, reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore"))


async def _deny(socket: WebSocket, error: Exception) -> None:
    request_id = request_id_of(dict(socket.scope["headers"]))
    reply = refusal_for(error, request_id, method="GET", route=PATH).reply(request_id)
    if "websocket.http.response" in socket.scope.get("extensions", {}):
        headers = {**reply.headers, "x-request-id": request_id}
        await socket.send_denial_response(Response(reply.body, reply.status, headers))
    else:
        await socket.close(_REFUSED)
