"""A network that can be broken: everything between two processes goes through a Wire."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from random import Random
from typing import NamedTuple

COMMIT = b"COMMIT\0"  # as PostgreSQL's simple query has it
_CHUNK = 65_536
_PACKET = 1400  # bytes
_SENT_AGAIN = 0.2  # seconds until TCP sends again what was lost, the first time
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Way(Enum):
    THERE = "there"  # from who connects to who listens
    BACK = "back"


class Upstream(NamedTuple):
    """A port of this machine, or the path of a Unix socket."""

    address: int | str

    async def connect(self) -> _Streams:
        if isinstance(self.address, int):
            return await asyncio.open_connection("127.0.0.1", self.address)
        return await asyncio.open_unix_connection(self.address)


class Wire:
    """Passes bytes on, as long as nobody breaks it. What is broken belongs to the wire, so several faults at once on
    one wire are not foreseen."""

    def __init__(self, upstream: Upstream, host: str = "127.0.0.1") -> None:
        self._upstream = upstream
        self._host = host
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self._born_blocked: tuple[Way, ...] = ()
        self.delay = 0.0
        self.loss = 0.0
        self.lost_answer: bytes | None = None  # the answer to what contains this is swallowed, once

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self.port}"

    @property
    def port(self) -> int:
        assert self._server
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def open(self) -> "Wire":
        self._server = await asyncio.start_server(self._accept, self._host, 0)
        return self

    async def close(self) -> None:
        if self._server:
            self._server.close()
        self._abort_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """All connections are reset, and new ones refused at once."""
        self._is_cut = True
        self._abort_all()
        yield
        self._is_cut = False

    @contextmanager
    def blocked(self, *ways: Way) -> Iterator[None]:
        """Nothing gets through, and nobody is told. Afterwards it all arrives: TCP has sent it again."""
        blocked = [connection.gates[way] for connection in self._connections for way in ways]
        for gate in blocked:
            gate.clear()
        with self._new_ones_blocked(ways):
            yield
        for gate in blocked:
            gate.set()

    @contextmanager
    def forgotten(self) -> Iterator[None]:
        """As when a firewall lost its state: what is open now stays silent for ever, new ones work afterwards."""
        for connection in self._connections:
            for gate in connection.gates.values():
                gate.clear()
        with self._new_ones_blocked(tuple(Way)):
            yield

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        self.delay = seconds
        yield
        self.delay = 0.0

    @contextmanager
    def lossy(self, share: float) -> Iterator[None]:
        """So many packets are lost: TCP sends them again, each time after twice as long, and a bit at a time."""
        self.loss = share
        yield
        self.loss = 0.0

    @contextmanager
    def _new_ones_blocked(self, ways: tuple[Way, ...]) -> Iterator[None]:
        before, self._born_blocked = self._born_blocked, ways
        known = set(self._connections)
        yield
        self._born_blocked = before
        for connection in self._connections - known:
            for way in ways:
                connection.gates[way].set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._serve((reader, writer))
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _serve(self, near: _Streams) -> None:
        if self._is_cut:
            return
        far = await self._upstream.connect()
        connection = _Connection(self, near, far, self._born_blocked)
        self._connections.add(connection)
        try:
            await connection.pass_on()
        finally:
            self._connections.discard(connection)
            connection.abort()

    def _abort_all(self) -> None:
        for connection in list(self._connections):
            connection.abort()


class _Connection:
    def __init__(self, wire: Wire, near: _Streams, far: _Streams, blocked: tuple[Way, ...]) -> None:
        self.gates = {way: asyncio.Event() for way in Way}
        for way in set(Way) - set(blocked):
            self.gates[way].set()
        self._wire = wire
        self._near, self._far = near, far
        self._answer_is_lost = False
        self._random = Random()  # noqa: S311 (nothing secret)

    async def pass_on(self) -> None:
        """Until either side closes, or the connection is aborted."""
        pumps = [
            asyncio.create_task(self._pump(Way.THERE, self._near[0], self._far[1])),
            asyncio.create_task(self._pump(Way.BACK, self._far[0], self._near[1])),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def abort(self) -> None:
        for _, writer in (self._near, self._far):
            writer.transport.abort()

    async def _pump(self, way: Way, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(_CHUNK):
            await self.gates[way].wait()
            if self._wire.delay:
                await asyncio.sleep(self._wire.delay)
            if self._swallows(way, data):
                return
            for packet in self._packets(data):
                await self._lose_some()
                sink.write(packet)
                await sink.drain()

    def _packets(self, data: bytes) -> Iterator[bytes]:
        size = _PACKET if self._wire.loss else len(data)
        return (data[place : place + size] for place in range(0, len(data), size))

    async def _lose_some(self) -> None:
        wait = _SENT_AGAIN
        while self._random.random() < self._wire.loss:
            await asyncio.sleep(wait)
            wait *= 2

    def _swallows(self, way: Way, data: bytes) -> bool:
        """The answer itself, not the question: that has been worked on."""
        if way is Way.THERE and self._wire.lost_answer and self._wire.lost_answer in data:
            self._wire.lost_answer = None
            self._answer_is_lost = True
        return way is Way.BACK and self._answer_is_lost
