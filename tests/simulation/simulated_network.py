"""A connection between a worker and a node: in order within itself, in no order with the others, and easily cut."""

import asyncio
from collections import deque

import msgspec

from simulation.idle_detector import IdleDetector
from tickwork.model.worker_protocol import FromServer, FromWorker

_decoder = msgspec.msgpack.Decoder(FromServer)


class Link:
    """Messages wait on either side until they are delivered. None is the end of the connection."""

    def __init__(
        self, number: int, server: int, worker: str, still: IdleDetector, *, is_built_in: bool = False
    ) -> None:
        self.number = number
        self.server = server
        self.is_built_in = is_built_in
        self.worker = worker
        self.to_server: deque[bytes | None] = deque()
        self.to_worker: deque[bytes | None] = deque()
        self.swallows = False  # open by the look of it, but nothing comes through
        self.socket = ServerSocket(self, still)
        self.session: asyncio.Task[None] | None = None

    def send(self, message: FromWorker) -> None:
        if not self.swallows:
            self.to_server.append(msgspec.msgpack.encode(message))

    def answer(self, message: bytes | None) -> None:
        if not self.swallows:
            self.to_worker.append(message)

    def cut(self) -> None:
        """What is on its way is lost; each side learns of it in its own time."""
        for waiting in (self.to_server, self.to_worker):
            waiting.clear()
            waiting.append(None)

    def deliver_to_server(self) -> bytes | None:
        message = self.to_server.popleft()
        self.socket.put(message)
        return message

    def take_for_worker(self) -> FromServer | None:
        message = self.to_worker.popleft()
        return None if message is None else _decoder.decode(message)


class ServerSocket:
    """The gateway's end."""

    def __init__(self, link: Link, still: IdleDetector) -> None:
        self._link = link
        self._still = still
        self._inbox: deque[bytes | None] = deque()
        self._arrived: asyncio.Future[None] | None = None

    def put(self, message: bytes | None) -> None:
        self._inbox.append(message)
        if self._arrived and not self._arrived.done():
            self._still.begin(self)
            self._arrived.set_result(None)

    async def receive(self) -> bytes | None:
        if not self._inbox:
            self._arrived = asyncio.get_running_loop().create_future()
            self._still.rest(self)
            await self._arrived
        return self._inbox.popleft()

    async def send(self, message: bytes) -> None:
        self._link.answer(message)

    async def close(self, code: int, reason: str) -> None:  # noqa: ARG002 (the worker only learns that it ended)
        self._link.answer(None)
        self.put(None)
