"""Connects the gateway to a worker in the same process. Other workers connect by WebSocket."""

import asyncio

import msgspec

from tickwork.model.worker_protocol import FromServer, FromWorker


class InProcessConnection:
    """Both ends of one connection. The worker's end has messages, the gateway's end has bytes."""

    def __init__(self) -> None:
        self._to_server: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._to_worker: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._decoder = msgspec.msgpack.Decoder(FromServer)
        self.server_end = _ServerEnd(self._to_server, self._to_worker)

    @property
    def quiet(self) -> bool:
        """Nothing waits to be received."""
        return self._to_worker.empty()

    @property
    def all_read(self) -> bool:
        """The server has read all that was sent, and waits for more."""
        waiting = self._to_server._getters  # type: ignore[attr-defined]  # noqa: SLF001 (asyncio shows it nowhere else)
        return self._to_server.empty() and any(not each.done() for each in waiting)

    async def send(self, message: FromWorker) -> None:
        self._to_server.put_nowait(msgspec.msgpack.encode(message))

    async def receive(self) -> FromServer:
        message = await self._to_worker.get()
        if message is None:
            raise ConnectionError("the server closed the connection")
        decoded: FromServer = self._decoder.decode(message)
        return decoded

    async def close(self) -> None:
        self._to_server.put_nowait(None)


class _ServerEnd:
    def __init__(self, inbox: asyncio.Queue[bytes | None], outbox: asyncio.Queue[bytes | None]) -> None:
        self._inbox = inbox
        self._outbox = outbox

    async def receive(self) -> bytes | None:
        return await self._inbox.get()

    async def send(self, message: bytes) -> None:
        self._outbox.put_nowait(message)

    async def close(self, code: int, reason: str) -> None:  # noqa: ARG002 (the worker only needs to know that it ended)
        self._outbox.put_nowait(None)
        self._inbox.put_nowait(None)
