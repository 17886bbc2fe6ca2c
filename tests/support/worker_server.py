"""The server's end of the worker protocol, over a real WebSocket, to be played by a test."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tickwork.client.worker_websocket import WebSocketLink
from tickwork.execute.clock import elapsed
from tickwork.execute.worker import Worker
from tickwork.model.task import TaskDefinition
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import (
    Ack,
    Beat,
    Claim,
    Drain,
    Drained,
    FromServer,
    FromWorker,
    Hello,
    Note,
    Noted,
    Notes,
    Outcome,
    Outcomes,
    Renewed,
    Run,
    Runs,
    Welcome,
)
from tickwork.sdk.app import App

KEY = "worker-key"
TOKEN = "token"
START = 1_800_000_000_000_000  # what the database's clock shows when the worker's shows 0

Message = TypeVar("Message")
_decode = msgspec.msgpack.Decoder(FromWorker).decode


class Clock:
    """The worker's clock: real, but the test can move or halt it. The database's runs along."""

    def __init__(self) -> None:
        self._began = elapsed()
        self._moved = 0.0
        self._halted_at: float | None = None

    def __call__(self) -> float:
        real = elapsed() - self._began if self._halted_at is None else self._halted_at
        return real + self._moved

    def halt(self) -> None:
        self._halted_at = elapsed() - self._began

    def advance(self, seconds: float) -> None:
        self._moved += seconds

    @property
    def database(self) -> int:
        return START + int(self() * 1_000_000)


class Conversation:
    """One connection of a worker. Beats and notes are answered and kept aside; outcomes acknowledged, if wanted."""

    def __init__(self, socket: ServerConnection, clock: Clock) -> None:
        self.socket = socket
        self.clock = clock
        self.renew = True
        self.acknowledge = True
        self.note = True
        self.beats: asyncio.Queue[Beat] = asyncio.Queue()
        self.notes: asyncio.Queue[Notes] = asyncio.Queue()
        self.sizes: list[int] = []  # of all messages, in bytes
        self.closed = asyncio.Event()
        self._messages: asyncio.Queue[FromWorker] = asyncio.Queue()

    async def listen(self) -> None:
        try:
            async for message in self.socket:
                assert isinstance(message, bytes)
                self.sizes.append(len(message))
                await self._hear(_decode(message))
        finally:
            self.closed.set()

    async def _hear(self, message: FromWorker) -> None:
        if isinstance(message, Beat):
            self.beats.put_nowait(message)
            if self.renew:
                await self.send(Renewed(message.sent, self.clock.database))
            return
        if isinstance(message, Notes):
            self.notes.put_nowait(message)
            if self.note:
                await self.send(Noted(message.number))
            return
        self._messages.put_nowait(message)
        if isinstance(message, Outcomes) and self.acknowledge:
            await self.send(Ack(message.number))
        if isinstance(message, Drain):
            await self.send(Drained())

    async def send(self, message: FromServer) -> None:
        await self.socket.send(msgspec.msgpack.encode(message))

    async def expect(self, kind: type[Message]) -> Message:
        message = await self._messages.get()
        assert isinstance(message, kind), message
        return message

    async def welcome(self, *, forget: Iterable[Claim] = (), token: str = TOKEN) -> Hello:
        hello = await self.expect(Hello)
        await self.send(
            Welcome(
                worker=1,
                token=token,
                lease=LEASE.total_seconds(),
                now=self.clock.database,
                forget=list(forget),
            )
        )
        return hello

    async def run(self, *runs: Run) -> None:
        await self.send(Runs(list(runs)))

    async def outcomes(self, count: int) -> list[Outcome]:
        found: list[Outcome] = []
        while len(found) < count:
            found += (await self.expect(Outcomes)).items
        return found

    async def outcome(self) -> Outcome:
        (outcome,) = await self.outcomes(1)
        return outcome

    async def next_note(self) -> Note:
        (note,) = (await self.notes.get()).items
        return note

    def noted(self) -> list[Note]:
        """All that has come and was not looked at yet."""
        found: list[Note] = []
        while not self.notes.empty():
            found += self.notes.get_nowait().items
        return found

    async def drop(self) -> None:
        self.socket.transport.abort()
        await self.closed.wait()


class PlayedServer:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self._conversations: asyncio.Queue[Conversation] = asyncio.Queue()
        self._server: Server | None = None

    async def open(self) -> str:
        self._server = await serve(self._accept, "127.0.0.1", 0, compression=None, max_size=None)
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def close(self) -> None:
        assert self._server
        self._server.close()
        await self._server.wait_closed()

    async def conversation(self) -> Conversation:
        return await self._conversations.get()

    async def _accept(self, socket: ServerConnection) -> None:
        assert socket.request
        self.paths.append(socket.request.path)
        self.keys.append(socket.request.headers.get("Authorization"))
        conversation = Conversation(socket, self.clock)
        self._conversations.put_nowait(conversation)
        with suppress(ConnectionClosed):
            await conversation.listen()


class Bench:
    """A worker and the servers it can reach."""

    def __init__(
        self, worker: Worker, servers: list[PlayedServer], clock: Clock, running: asyncio.Task[None]
    ) -> None:
        self.worker = worker
        self.servers = servers
        self.clock = clock
        self.running = running

    async def conversation(self, server: int = 0) -> Conversation:
        return await self.servers[server].conversation()

    async def connected(self) -> Conversation:
        conversation = await self.conversation()
        await conversation.welcome()
        return conversation


@asynccontextmanager
async def working(
    tasks: App | list[TaskDefinition], *, servers: int = 1, path: str | None = None, **options: Any
) -> AsyncIterator[Bench]:
    clock = Clock()
    played = [PlayedServer(clock) for _ in range(servers)]
    link = WebSocketLink([await server.open() for server in played], KEY)
    definitions = list(tasks.definitions.values()) if isinstance(tasks, App) else tasks
    worker = Worker(link, definitions, app=path, measure=clock, **options)
    running = asyncio.create_task(worker.run())
    try:
        yield Bench(worker, played, clock, running)
    finally:
        worker.stop_now()
        await running
        for server in played:
            await server.close()


def run_of(
    task: str,
    payload: str = "{}",
    *,
    job: int = 1,
    attempt: int = 1,
    timeout: float = 60.0,
    not_before: int = 0,
) -> Run:
    return Run(
        tenant=1,
        at=START,
        job=job,
        attempt=attempt,
        task=task,
        payload=payload.encode(),
        timeout=timeout,
        not_before=not_before,
    )


def claim_of(run: Run) -> Claim:
    return Claim(run.tenant, run.at, run.job, run.attempt)
