"""From a seed to a history: a while in which anything may happen in any order, then a while in which all is well."""

import random
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import asyncpg

from simulation.random_faults import RandomFaults
from simulation.simulated_client import HORIZON, Client
from simulation.simulated_database import Lines, Planned
from simulation.simulated_targets import Targets
from simulation.simulated_worker import TASKS, SimulatedWorker
from simulation.simulated_world import Server, SimulatedWorld
from support.change_log import read_changes
from support.due_time_oracle import due_times
from support.observed_history import ObservedHistory, Transition, read_events

_STEPS = 130
_FAULTS = (5, 9)
_ROUNDS = 80
_CALM = 3  # rounds after which whatever was stopped before must have been told to its worker
_ROUND = 3.0  # seconds, as often as workers beat
_OFTEN = {
    "fire": 6,
    "claim": 6,
    "record": 6,
    "renew": 5,
    "rescue": 8,
    "revoke": 3,
    "fan out": 4,
}  # others less so
_RARELY = {  # they only tell, count or clean up
    "index jobs", "settle one-time jobs", "clean job index", "read failing jobs", "write pulse", "tell late",
    "tell endangered deadlines",
    "delete old events", "delete old errors", "delete old statistics", "update sessions", "report node",
}  # fmt: skip
_OF_EVERY_NODE = {"record", "claim", "renew", "revoke", "reconcile"}  # the others can be done by any
_LOST_REQUESTS = (
    Planned("lose answer"),
    Planned("lose answer"),
    Planned("lose commit"),
    Planned("lose statement", 4),
)
_BEFORE_LIMITS = Planned("stand still", words="FOR UPDATE OF g")
_OFTEN_DUE = 5.0  # seconds
_LEFT_OUT = {
    "look for work",
    "test writes",
    "watch database",
    "mark commits",
    "maintain partitions",
    "delete past jobs",
    "update zone data",
    "record key use",
    "expire idempotency keys",
    "create deferred",
    "read heartbeats",  # there are none, and no pings
    "call heartbeats",
    "watch pings",
    "delete old ping runs",
    "report outside",
}
_PAUSES = (0.05, 0.2, 1.0, 1.0, 3.0, 3.0, 4.0)
_AHEAD = 0.2  # seconds
_UNENDED = """
    SELECT count(*) FROM tickwork.execution e JOIN tickwork.job j ON j.id = e.job_id
    WHERE e.finished_at IS NULL AND NOT (e.status = 'pending' AND j.status = 'paused') AND NOT EXISTS (
        SELECT FROM tickwork.awaited a WHERE a.child_id = e.job_id AND a.child_at = e.scheduled_for)"""


class Simulated(NamedTuple):
    seed: int
    observed: ObservedHistory
    journal: list[str]
    crashes: list[str]
    faults: int

    def text(self) -> str:
        """All of it, to be compared byte for byte."""
        observed = self.observed
        told = [f"{each.key} {each}" for each in _in_one_order(observed.transitions)]
        return "\n".join(
            [*self.journal, *told, *map(str, observed.seen_attempts), *map(str, observed.operations)]
        )


def _in_one_order(transitions: Iterable[Transition]) -> Iterator[Transition]:
    """What one transaction changes without another in between, by key and under one number: a statement changes its
    rows in the order in which they lie in the table."""
    for _, together in groupby(transitions, key=lambda each: each.transaction):
        first, *others = together
        for each in sorted([first, *others], key=lambda each: each.key):
            yield each._replace(number=first.number)


async def simulate(seed: int, lines: Lines, control: asyncpg.Connection) -> Simulated:
    random.seed(seed)  # for what the code under test draws
    world = SimulatedWorld.current = SimulatedWorld(seed, lines, control)
    try:
        await _Script(world).play()
        changes, events = await read_changes(control), await read_events(control)
    finally:
        await world.close()
    observed = ObservedHistory(
        changes,
        events=events,
        seen_attempts=world.seen_attempts,
        operations=world.operations,
        oracle=due_times,
        ended_at=world.now,
        told_to_stop=world.told_to_stop,
        calm_at=world.calm_at,
    )
    return Simulated(seed, observed, world.journal, world.crashes, world.faults)


class _Script:
    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._client = Client(world)
        self._faults = RandomFaults(world)
        self._targets = Targets(world)
        self._random = world.random

    async def play(self) -> None:
        await self._begin()
        await self._anything_may_happen()
        await self._all_is_well()

    async def _begin(self) -> None:
        world = self._world
        for number in range(self._random.randint(2, 3)):
            world.servers.append(await world.open_server(number))
        self._faults.hire(self._random.randint(2, 3))
        for worker in world.workers:
            world.connect(worker, self._random.choice(world.servers))
        await self._deliver_all()
        await self._client.create(world.servers[0])

    async def _anything_may_happen(self) -> None:
        faults = set(self._random.sample(range(_STEPS), self._random.randint(*_FAULTS)))
        weights = {
            self._step: 12, self._deliver: 14, self._act: 5, self._beat: 3, self._ask: 2, self._wait: 5,
            self._hand_out_ahead: 1, self._free_places_before_limits: 3,
            self._call_back: 4 * self._world.has_targets,
        }  # fmt: skip
        for number in range(_STEPS):
            await self._faults.mend()
            if number in faults:
                await self._faults.strike()
            else:
                (event,) = self._random.choices([*weights], [*weights.values()])
                await event()

    async def _step(self) -> None:
        server = self._running_server()
        if server:
            loops = [loop for loop in server.node._loops.names() if loop not in _LEFT_OUT]
            weights = [0.3 if loop in _RARELY else _OFTEN.get(loop, 2) for loop in loops]
            (loop,) = self._random.choices(loops, weights)
            await self._world.step(server, loop)

    async def _deliver(self) -> None:
        """One message, whichever: so connections overtake one another."""
        links = [link for link in self._world.links if self._can_deliver(link.server) and link.to_server]
        towards_workers = [
            link for link in self._world.links if link.to_worker and self._is_awake(link.worker)
        ]
        if links and (not towards_workers or self._random.random() < 0.5):
            await self._world.deliver_to_server(self._random.choice(links))
        elif towards_workers:
            self._world.deliver_to_worker(self._random.choice(towards_workers))

    async def _act(self) -> None:
        for worker in self._awake_workers():
            if worker.link is None:
                self._reconnect(worker)
            worker.act(share=0.7)
            self._part_with(worker)

    async def _beat(self) -> None:
        for worker in self._awake_workers():
            worker.beat()

    async def _ask(self) -> None:
        server = self._running_server()
        if server:
            planned = self._random.choice(_LOST_REQUESTS) if self._random.random() < 0.3 else None
            self._world.faults += planned is not None
            ask = self._client.create if self._random.random() < 0.2 else self._client.anything
            await ask(server, planned)

    async def _call_back(self) -> None:
        server = self._running_server()
        if server and not self._world.away:
            await self._targets.call_back(server)

    async def _wait(self) -> None:
        await self._world.advance(self._random.choice(_PAUSES))

    async def _hand_out_ahead(self) -> None:
        """Just before a whole second, when what is due then is fired and handed out."""
        fraction = self._world.seconds() % 1
        server = self._running_server()
        if server and fraction < 1 - _AHEAD:
            await self._world.advance(1 - _AHEAD - fraction)
            for event in (self._beat, self._deliver, self._deliver, self._deliver):
                await event()
            for loop in ("renew", "fire", "claim"):
                await self._world.step(server, loop)
            for _ in range(4):
                await self._deliver()
            await self._act()

    async def _free_places_before_limits(self) -> None:
        """Workers that are full free places while firing waits for the locks of the limits."""
        server = self._running_server()
        workers = self._workers_of(server) if server else []
        tasks = [task for task in TASKS if 0 < sum(task in worker.tasks for worker in workers) < len(workers)]
        if server is None or not tasks:
            return
        task = self._random.choice(tasks)
        full = [worker for worker in workers if task in worker.tasks]
        await self._client.fill(server, task, sum(worker.places for worker in full))
        await self._world.drain(server, "claim")
        await self._exchange_all(server)
        await self._world.advance(_OFTEN_DUE - self._world.seconds() % _OFTEN_DUE)
        await self._beat()
        await self._world.step(server, "fire", _BEFORE_LIMITS)
        await self._exchange_all(server)
        await self._world.go_on(server)

    def _workers_of(self, server: Server) -> list[SimulatedWorker]:
        return [each for each in self._awake_workers() if each.link and each.link.server == server.number]

    async def _exchange_all(self, server: Server) -> None:
        """All messages between a node and its workers, which do what they can meanwhile."""
        for link in [link for link in self._world.links if link.server == server.number]:
            while link.to_worker and self._is_awake(link.worker):
                self._world.deliver_to_worker(link)
        await self._act()
        for link in [link for link in self._world.links if link.server == server.number]:
            while link.to_server:
                await self._world.deliver_to_server(link)

    async def _all_is_well(self) -> None:
        """Everything must come to its end, without anybody's help."""
        world = self._world
        world.note("all is well")
        await self._faults.heal()
        await self._client.ask_again(world.servers[0])
        for number in range(_ROUNDS):
            if number == _CALM:
                world.calm_at = world.now
            if number >= _CALM:
                for worker in world.workers:
                    worker.hurry()
                self._targets.hurry()
            await self._one_round(world.servers[number % len(world.servers)])
            if number > _CALM and world.now > HORIZON and await world.control.fetchval(_UNENDED) == 0:
                break
        await world.advance(60.0)

    async def _one_round(self, leading: Server) -> None:
        for worker in list(self._world.workers):
            if worker.link is None:
                self._reconnect(worker)
            worker.beat()
            worker.act()
            self._part_with(worker)
        self._faults.hire(2)
        for _ in range(len(self._world.accepted)):
            await self._targets.call_back(leading)
        await self._deliver_all()
        for server in self._world.servers:
            for loop in server.node._loops.names():
                if loop in _OF_EVERY_NODE or (server is leading and loop not in _LEFT_OUT):
                    await self._world.drain(server, loop)
        await self._deliver_all()
        await self._world.advance(_ROUND)

    async def _deliver_all(self) -> None:
        while True:
            waiting = [link for link in self._world.links if link.to_server]
            for link in waiting:
                await self._world.deliver_to_server(link)
            coming = [link for link in self._world.links if link.to_worker]
            for link in coming:
                self._world.deliver_to_worker(link)
            if not waiting and not coming:
                return

    def _part_with(self, worker: SimulatedWorker) -> None:
        if worker.killed:
            self._world.note(f"{worker.name} is killed by what it ran")
            if worker.link:
                worker.link.to_server.append(None)
        if worker.gone or worker.killed:
            self._world.workers.remove(worker)

    def _reconnect(self, worker: SimulatedWorker) -> None:
        server = self._running_server()
        if server:
            self._world.connect(worker, server)

    def _running_server(self) -> Server | None:
        running = [server for server in self._world.servers if server.runs]
        return self._random.choice(running) if running else None

    def _can_deliver(self, server: int) -> bool:
        return self._world.servers[server].runs

    def _awake_workers(self) -> list[SimulatedWorker]:
        return [worker for worker in self._world.workers if not worker.frozen]

    def _is_awake(self, name: str) -> bool:
        return all(not worker.frozen for worker in self._world.workers if worker.name == name)
