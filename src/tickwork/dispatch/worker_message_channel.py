"""One connection of a worker: decodes what it sends, and sends messages in order without blocking the caller."""

import asyncio
from collections import deque
from typing import Protocol

import msgspec

from tickwork.model.worker_protocol import FromServer, FromWorker

_MOST_UNSENT = 10_000  # messages that the worker has not read


class BrokenProtocol(Exception):
    """The worker sent a message that the protocol does not allow. This ends its connection and nothing else."""


class Socket(Protocol):
    async def receive(self) -> bytes | None:
        """The next message; None when the connection is closed."""

    async def send(self, message: bytes) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...


class WorkerSession:
    """Sends in a task of its own, so that nothing waits for a slow worker."""

    def __init__(self, socket: Socket) -> None:
        self.close_reason: str | None = None  # if the server closed the connection
        self._socket = socket
        self._decoder = msgspec.msgpack.Decoder(FromWorker)
        self._encoder = msgspec.msgpack.Encoder()
        self._unsent: deque[FromServer | None] = deque()  # None ends the connection
        self._awaits_welcome = False
        self._overflowed = False
        self._wake_sender = asyncio.Event()
        self._sender = asyncio.create_task(self._send_all())

    def send(self, message: FromServer) -> None:
        if len(self._unsent) < _MOST_UNSENT:
            self._unsent.append(message)
        else:
            self._overflowed = True
        if not self._awaits_welcome:
            self._wake_sender.set()

    def disconnect(self) -> None:
        """End the connection after the messages before. A worker that reconnects is sent again what it lacks."""
        self._unsent.append(None)
        self._wake_sender.set()

    def queue_until_welcome(self) -> None:
        """Send nothing before `send_welcome`, so that no message overtakes the Welcome."""
        self._awaits_welcome = True

    def send_welcome(self, message: FromServer) -> None:
        self._unsent.appendleft(message)
        self._awaits_welcome = False
        self._wake_sender.set()

    async def receive(self) -> FromWorker | None:
        message = await self._socket.receive()
        if self._overflowed:  # messages were dropped: it must reconnect to be sent again what it lacks
            raise BrokenProtocol("it does not read its messages")
        try:
            return None if message is None else self._decoder.decode(message)
        except (ValueError, RecursionError) as error:
            raise BrokenProtocol(str(error)) from None

    async def send_now(self, message: FromServer) -> None:
        await self._socket.send(self._encoder.encode(message))

    async def close(self, code: int, reason: str) -> None:
        self.close_reason = self.close_reason or reason
        await self._socket.close(code, reason)

    async def end(self) -> None:
        self._sender.cancel()
        await asyncio.gather(self._sender, return_exceptions=True)

    async def _send_all(self) -> None:
        while True:
            await self._wake_sender.wait()
            self._wake_sender.clear()
            while self._unsent and not self._awaits_welcome:
                message = self._unsent.popleft()
                if message is None:
                    await self.close(1012, "this worker has come back on another connection")
                    return
                await self._socket.send(self._encoder.encode(message))
