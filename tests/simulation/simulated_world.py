"""Everything that one history is made of, and the small things that can happen in it."""

import asyncio
from collections.abc import Awaitable, Coroutine
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import asyncpg

from simulation.idle_detector import IdleDetector
from simulation.simulated_database import Access, Lines, Planned
from simulation.simulated_network import Link
from simulation.simulated_worker import AcceptedAttempt, SimulatedWorker
from tickwork.config import Settings
from tickwork.loop_names import LoopName
from tickwork.model.access import Caller, Scope
from tickwork.model.errors import Unavailable
from tickwork.node import Node

if TYPE_CHECKING:
    from support.observed_history import Key, Operation, SeenAttempt

TENANT = 1
BEGIN = datetime(2026, 3, 2, 12, tzinfo=UTC)
_WITH_TARGETS = 0.3  # of all histories
_CALLER = Caller(TENANT, "default", 1, frozenset({Scope.WORKER}))
_SETTINGS = Settings(database_url="postgresql://simulated", http=False)


class Server:
    """A place where a node runs; when it is killed, another takes its place."""

    def __init__(self, number: int, access: Access) -> None:
        self.number = number
        self.access = access
        self.node = Node(_SETTINGS)
        self.alive = True
        self.frozen = False
        self.standing: dict[
            str, asyncio.Future[None]
        ] = {}  # steps in mid-transaction, and what lets them go on
        self.tasks: dict[str, asyncio.Task[Any]] = {}

    @property
    def runs(self) -> bool:
        return self.alive and not self.frozen


class SimulatedWorld:
    current: "SimulatedWorld"  # whom the patched clocks and databases belong to

    def __init__(self, seed: int, lines: Lines, control: asyncpg.Connection) -> None:
        self.random = Random(seed)  # noqa: S311 (a seed is the point)
        self.now = BEGIN
        self.skew = 0.0
        self.still = IdleDetector()
        self.servers: list[Server] = []
        self.workers: list[SimulatedWorker] = []
        self.links: list[Link] = []
        self.seen_attempts: list[SeenAttempt] = []
        self.operations: list[Operation] = []
        self.accepted: list[AcceptedAttempt] = []  # by HTTP targets
        self.has_targets = self.random.random() < _WITH_TARGETS
        self.told_to_stop: set[tuple[Key, int]] = set()
        self.journal: list[str] = []
        self.crashes: list[str] = []
        self.faults = 0
        self.calm_at: datetime | None = None
        self.away = False
        self.control = control
        self.lines = lines
        self._links = 0
        self._acting: Server | None = None
        self._sleepers: list[asyncio.Future[None]] = []

    def note(self, what: str) -> None:
        self.journal.append(f"{self.now:%H:%M:%S.%f} {what}")

    def seconds(self) -> float:
        return (self.now - BEGIN).total_seconds()

    def wall(self) -> float:
        return self.now.timestamp() + self.skew

    async def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        await self.control.execute("UPDATE tickwork.settable_clock SET at = $1", self.now)

    # Nodes

    def access_of_opening(self) -> Access:
        assert self._acting
        return self._acting.access

    async def open_server(self, number: int) -> Server:
        server = Server(number, Access(self.lines))
        self._acting = server
        await server.node.open()
        server.access.stands_still = lambda goes_on: self._stood_still(server, goes_on)
        return server

    async def step(self, server: Server, loop: LoopName, planned: Planned | None = None) -> None:
        """One step of a loop, to its end or to where it stands still."""
        if loop in server.standing:
            return
        server.access.arm(planned)
        self.note(f"n{server.number} {loop}{f' ({planned.fault} at {planned.statement})' if planned else ''}")
        await self._start(server, loop, server.node.step(loop))
        server.access.arm(None)

    async def drain(self, server: Server, loop: LoopName, at_most: int = 20) -> None:
        """A loop until it says that there is no more."""
        for _ in range(at_most):
            await self.step(server, loop)
            task = server.tasks.get(loop)
            if task is None or not task.done() or task.cancelled() or task.exception() or not task.result():
                return

    async def _start(self, server: Server, name: str, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work, name=name)
        server.tasks[name] = task
        self.still.begin(task)
        task.add_done_callback(lambda done: self._ended(server, done))
        self._acting = server
        self._acting_step = name
        await self.still()

    def _ended(self, server: Server, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, Unavailable):
            self.crashes.append(f"n{server.number} {task.get_name()}: {type(error).__name__}: {error}")
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)
        self._sleepers.clear()
        self.still.rest(task)

    def _stood_still(self, server: Server, goes_on: asyncio.Future[None]) -> None:
        name = self._acting_step
        server.standing[name] = goes_on
        self.still.rest(server.tasks[name])

    async def go_on(self, server: Server) -> None:
        """What stands still in the middle of something goes on."""
        for name, goes_on in list(server.standing.items()):
            self.note(f"n{server.number} {name} goes on")
            del server.standing[name]
            self.still.begin(server.tasks[name])
            goes_on.set_result(None)
            await self.still()

    async def kill(self, server: Server) -> None:
        """Nothing of it is done any more; what it had not committed is undone."""
        server.alive = False
        server.access.cut = True
        doomed = [link for link in self.links if link.server == server.number]
        tasks = [task for task in server.tasks.values() if not task.done()]
        tasks += [link.session for link in doomed if link.session and not link.session.done()]
        for task in tasks:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        server.standing.clear()
        for link in doomed:
            link.cut()
        self.links = [link for link in self.links if link not in doomed]
        await self.still()

    async def sleep(self, _: float) -> None:
        """In place of a session's short sleep: until some step has ended."""
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        session = asyncio.current_task()
        link = next(link for link in self.links if link.session is session)
        self.still.rest(link.socket)
        await sleeper
        self.still.begin(link.socket)

    # Workers

    def connect(self, worker: SimulatedWorker, server: Server) -> None:
        self._links += 1
        link = Link(self._links, server.number, worker.name, self.still, is_built_in=worker.calls_targets)
        self.links.append(link)
        self.note(f"{worker.name} connects to n{server.number}")
        worker.connect(link)

    async def deliver_to_server(self, link: Link) -> None:
        server = self.servers[link.server]
        if link.session is None and link.to_server[0] is not None:
            self.still.begin(link.socket)
            link.session = asyncio.create_task(
                server.node.gateway.attend(None if link.is_built_in else _CALLER, link.socket), name="session"
            )
            link.session.add_done_callback(lambda done: self._session_ended(server, link, done))
        message = link.deliver_to_server()
        self.note(f"{link.worker} → n{link.server}: {_size(message)}")
        server.access.arm(None)
        await self.still()
        if message is None:
            link.to_server.clear()  # both sides may have ended it
            self.links.remove(link)

    def _session_ended(self, server: Server, link: Link, task: asyncio.Task[None]) -> None:
        link.answer(None)
        self.still.rest(link.socket)
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, Unavailable):
            self.crashes.append(f"n{server.number} session: {type(error).__name__}: {error}")

    def deliver_to_worker(self, link: Link) -> None:
        worker = next((each for each in self.workers if each.link is link), None)
        message = link.take_for_worker()
        if worker is not None:
            self.note(f"n{link.server} → {link.worker}: {worker.hear(message)}")

    # Clients

    async def ask(self, server: Server, request: Awaitable[Any], planned: Planned | None = None) -> Any:
        server.access.arm(planned)
        self._acting = server
        try:
            return await request
        finally:
            server.access.arm(None)
            await self.still()

    async def last_change(self) -> int:
        number: int = await self.control.fetchval("SELECT last_value FROM tickwork.observed_number_seq")
        return number

    async def close(self) -> None:
        for server in self.servers:
            if server.alive:
                await self.kill(server)


def _size(message: bytes | None) -> str:
    return "end" if message is None else f"{len(message)} bytes"
