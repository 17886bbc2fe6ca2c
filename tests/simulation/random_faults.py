"""What goes wrong, at random."""

from simulation.simulated_database import Fault, Planned
from simulation.simulated_worker import TASKS, SimulatedWorker
from simulation.simulated_world import Server, SimulatedWorld
from tickwork.loop_names import LoopName
from tickwork.model.job import HTTP_TASK

_LOOPS: tuple[LoopName, ...] = (
    "fire",
    "claim",
    "record",
    "rescue",
    "renew",
    "release queued",
    "revoke",
    "reconcile",
    "backfill",
    "fan out",
    "enforce time limits",
    "end callbacks",
)
_MIDST = (Planned("stand still", 4), Planned("stand still", 6), Planned("stand still after commit"))
_LONGER_THAN_A_LEASE = (16.0, 21.0)


class RandomFaults:
    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._awake_at: dict[str, float] = {}  # frozen workers
        self._back_at = 0.0  # the database
        self._names = 0

    async def strike(self) -> None:
        faults = [
            self._lose_something, self._lose_something, self._lose_something, self._stand_still, self._stand_still,
            self._kill_node, self._freeze_node, self._kill_worker, self._freeze_worker, self._freeze_worker,
            self._cut_link, self._swallow, self._drain_worker, self._take_database_away, self._jump, self._skew,
        ]  # fmt: skip
        self._world.faults += 1
        await self._world.random.choice(faults)()

    async def mend(self) -> None:
        """What was only for a while is over."""
        now = self._world.seconds()
        for worker in self._world.workers:
            if worker.frozen and now >= self._awake_at[worker.name]:
                self._world.note(f"{worker.name} wakes up")
                worker.wake_up()
        if self._world.away and now >= self._back_at:
            self._database_is(away=False)
        for server in self._world.servers:
            if (server.frozen or server.standing) and self._world.random.random() < 0.1:
                await self._thaw(server)
        if len(self._world.workers) < 2:
            self.hire(2)

    async def heal(self) -> None:
        """All that is left to mend, at once."""
        self._database_is(away=False)
        for server in list(self._world.servers):
            await self._thaw(server)
            if not server.alive:
                await self._replace(server)
        for worker in self._world.workers:
            if worker.frozen:
                worker.wake_up()
        for link in self._world.links:
            if link.swallows:
                link.swallows = False
                link.cut()
        self.hire(2)

    def hire(self, least: int) -> None:
        """Until there are so many workers, and one for every task."""
        while len(self._world.workers) < least or not self._is_every_task_offered():
            self._hire()
        if self._world.has_targets and not any(worker.calls_targets for worker in self._world.workers):
            self._names += 1
            self._world.workers.append(SimulatedWorker(self._world, f"calling-{self._names}", (HTTP_TASK,)))

    def _hire(self) -> None:
        """Some offer only a part of the tasks, so that one may be full while another has room."""
        self._names += 1
        part = self._world.random.choice((TASKS, TASKS[:1], TASKS[1:]))
        tasks = part if self._is_every_task_offered() else TASKS
        self._world.workers.append(SimulatedWorker(self._world, f"worker-{self._names}", tasks))

    def _is_every_task_offered(self) -> bool:
        return {task for worker in self._world.workers for task in worker.tasks} >= {*TASKS}

    async def _thaw(self, server: Server) -> None:
        server.frozen = False
        if server.alive:
            await self._world.go_on(server)

    def _some_server(self) -> Server | None:
        running = [server for server in self._world.servers if server.runs]
        return self._world.random.choice(running) if running else None

    def _some_worker(self) -> SimulatedWorker | None:
        awake = [worker for worker in self._world.workers if not worker.frozen]
        return self._world.random.choice(awake) if awake else None

    async def _lose_something(self) -> None:
        """A statement, a commit, or the answer to a commit."""
        faults: tuple[Fault, ...] = ("lose statement", "lose commit", "lose answer", "lose answer")
        fault = self._world.random.choice(faults)
        await self._spoil(
            Planned(fault, self._world.random.randint(1, 7) if fault == "lose statement" else 0)
        )

    async def _stand_still(self) -> None:
        """A step stops in the middle of its transaction, or right after its commit, while all else goes on."""
        if self._world.random.random() < 0.3:
            await self._spoil(Planned("stand still after commit"))
        else:
            await self._spoil(Planned("stand still", self._world.random.randint(2, 7)))

    async def _spoil(self, planned: Planned) -> None:
        server = self._some_server()
        if server:
            await self._world.step(server, self._world.random.choice(_LOOPS), planned)

    async def _kill_node(self) -> None:
        server = self._some_server()
        if server is None:
            return
        if self._world.random.random() < 0.6:
            loop = self._world.random.choice(_LOOPS[:4])
            await self._world.step(server, loop, self._world.random.choice(_MIDST))
        self._world.note(f"n{server.number} is killed")
        await self._world.kill(server)
        await self._replace(server)

    async def _replace(self, server: Server) -> None:
        away, self._world.away = self._world.away, False
        self._world.servers[server.number] = await self._world.open_server(server.number)
        self._database_is(away=away)

    async def _freeze_node(self) -> None:
        server = self._some_server()
        if server:
            self._world.note(f"n{server.number} freezes")
            server.frozen = True

    async def _kill_worker(self) -> None:
        worker = self._some_worker()
        if worker:
            self._world.note(f"{worker.name} is killed")
            self._world.workers.remove(worker)
            if worker.link and self._world.random.random() < 0.7:
                worker.link.to_server.append(None)

    async def _freeze_worker(self) -> None:
        busy = [worker for worker in self._world.workers if worker.busy and not worker.frozen]
        worker = self._world.random.choice(busy) if busy else self._some_worker()
        if worker:
            self._world.note(f"{worker.name} freezes")
            worker.frozen = True
            lasts = self._world.random.choice((4.0, 13.5, *_LONGER_THAN_A_LEASE, *_LONGER_THAN_A_LEASE))
            self._awake_at[worker.name] = self._world.seconds() + lasts

    async def _cut_link(self) -> None:
        if self._world.links:
            link = self._world.random.choice(self._world.links)
            self._world.note(f"{link.worker} and n{link.server} are cut off")
            link.cut()

    async def _swallow(self) -> None:
        if self._world.links:
            link = self._world.random.choice(self._world.links)
            self._world.note(f"nothing comes through between {link.worker} and n{link.server}")
            link.swallows = True

    async def _drain_worker(self) -> None:
        worker = self._some_worker()
        if worker:
            self._world.note(f"{worker.name} drains")
            worker.drain()

    async def _take_database_away(self) -> None:
        self._back_at = self._world.seconds() + self._world.random.choice((1.0, 4.0, 17.0))
        self._database_is(away=True)

    def _database_is(self, *, away: bool) -> None:
        if away != self._world.away:
            self._world.note(f"the database is {'away' if away else 'back'}")
        self._world.away = away
        for server in self._world.servers:
            server.access.cut = away or not server.alive

    async def _jump(self) -> None:
        """All stand still for longer than a lease, as when a machine is suspended."""
        await self._world.advance(self._world.random.choice(_LONGER_THAN_A_LEASE))
        self._world.note("time jumps")

    async def _skew(self) -> None:
        self._world.skew = self._world.random.choice((-3600.0, -60.0, 60.0, 3600.0))
