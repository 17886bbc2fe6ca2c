"""The worker's connection to a server: one WebSocket, msgpack both ways."""

from collections.abc import Callable, Sequence
from itertools import cycle
from random import Random
from urllib.parse import SplitResult, urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from tickwork.client.find_server import is_loopback
from tickwork.model.errors import Invalid, NotAllowed
from tickwork.model.worker_protocol import FromServer, FromWorker

WORKER_PATH = "/v1/workers/connect"

_LARGEST_MESSAGE = 256 * 1024 * 1024
_OPENING = 5.0  # seconds
_CLOSING = 1.0
_NOT_ALLOWED = (401, 403)

_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], FromServer] = msgspec.msgpack.Decoder(FromServer).decode


def own_order(servers: Sequence[str], worker: str | None) -> list[str]:
    """A random order per worker, so that workers spread over the servers, also when one of them fails."""
    return Random(worker).sample(servers, len(servers))  # noqa: S311 (spread, not secrecy)


class WebSocketLink:
    """Connects to the next server each time. Pings are off, because the protocol has its own beats."""

    def __init__(self, servers: Sequence[str], key: str) -> None:
        self._urls = cycle([_socket_url(server) for server in servers])
        self._headers = {"Authorization": f"Bearer {key}"}

    async def connect(self) -> "WebSocketConnection":
        url = next(self._urls)
        try:
            socket = await connect(
                url,
                additional_headers=self._headers,
                compression=None,
                max_size=_LARGEST_MESSAGE,
                open_timeout=_OPENING,
                close_timeout=_CLOSING,
                ping_interval=None,
                proxy=None
                if is_loopback(urlsplit(url).hostname or "")
                else True,  # none leads back to this machine
            )
        except InvalidStatus as error:
            status = error.response.status_code
            if status in _NOT_ALLOWED:
                raise NotAllowed(f"{url} refuses this key for workers (status {status})") from None
            raise ConnectionError(f"{url} answers with status {status}") from None
        except InvalidHandshake as error:
            raise ConnectionError(f"{url} does not speak WebSocket: {error}") from None
        except (OSError, ConnectionClosed) as error:  # closed: the connection was lost during the handshake
            raise ConnectionError(f"{url} cannot be reached: {error}") from error
        return WebSocketConnection(socket)


class WebSocketConnection:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, message: FromWorker) -> None:
        try:
            await self._socket.send(_encode(message))
        except ConnectionClosed as closed:
            raise ConnectionError(f"the connection was lost: {closed}") from None

    async def receive(self) -> FromServer:
        try:
            return _decode(await self._socket.recv(decode=False))
        except ConnectionClosed as closed:
            raise ConnectionError(f"the connection was lost: {closed}") from None
        except msgspec.DecodeError as error:
            raise ConnectionError(f"the server sent an unknown message: {error}") from None

    async def close(self) -> None:
        await self._socket.close()


def _socket_url(server: str) -> str:
    parts = urlsplit(server)
    scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(parts.scheme)
    if not scheme or not parts.hostname or not _has_good_port(parts):
        raise Invalid.field(
            "server", f"{server!r} is not the address of a server", "such as http://127.0.0.1:8080"
        )
    return parts._replace(
        scheme=scheme, path=parts.path.rstrip("/") + WORKER_PATH, query="", fragment=""
    ).geturl()


def _has_good_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False
