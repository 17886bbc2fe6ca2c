"""Fair turns: whoever has had least for his weight is next, and who was away is owed little for it.

Start-time fair queueing: each has a tag that moves on by what he was given, divided by his weight; the smallest tag
goes first. One who comes back begins a little before where the others are now: so a short burst of somebody who asks
for little goes ahead of those who ask without end, and only what is beyond that takes turns with them.
"""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.limits import LockedLimits
from tickwork.store.port.dispatch import Backlog, ExecutionColumns, Lane

CREDIT = 100  # so many, at most, are owed to one who was away
_KEPT = 10_000  # tags; beyond that those that mean nothing any more are forgotten

Contender = TypeVar("Contender", bound=Hashable)


class FairQueue(Generic[Contender]):
    def __init__(self) -> None:
        self._tags: dict[Contender, float] = {}
        self._now = 0.0

    def tag(self, contender: Contender) -> float:
        return max(self._tags.get(contender, 0.0), self._now - CREDIT)

    def give(self, contender: Contender, count: int, weight: float) -> None:
        start = self.tag(contender)
        self._now = max(self._now, start)
        self._tags[contender] = start + count / weight
        if len(self._tags) > _KEPT:
            self._tags = {other: tag for other, tag in self._tags.items() if tag > self._now - CREDIT}


AGED = 60.0  # seconds of waiting, after which urgency alone does not decide
_ONE_IN = 10  # places for those
_MOST = 4000  # places given away in one go
_ROUNDS = 4  # in which the places are given away: the more, the finer the shares


class ClaimOrder:
    """Remembers what each has had. Every node decides for its own workers."""

    def __init__(self, roster: ConnectedWorkers) -> None:
        self._roster = roster
        self._tenants: FairQueue[int] = FairQueue()
        self._flows: FairQueue[int] = FairQueue()
        self._owed = 0.0  # places to those that have waited long

    def allot(self, lines: Sequence[Backlog], gates: LockedLimits) -> dict[Backlog, int]:
        """At most so many of each line."""
        rooms = _Rooms(self._roster)
        open_ones = [line for line in lines if gates.room(self._roster.lanes[line.lane]) and rooms.fits(line)]
        step = max(rooms.places // (_ROUNDS * len(open_ones)), 1) if open_ones else 1
        tenants = [
            (self._tenants.tag(number), number, _Tenant(waiting, self._roster, self._flows))
            for number, waiting in self._by_tenant(open_ones).items()
        ]
        heapify(tenants)
        quotas: dict[Backlog, int] = {}
        while tenants:
            tag, number, tenant = tenants[0]
            line = tenant.next(self._owed)
            if line is None:
                heappop(tenants)
                continue
            lane = self._roster.lanes[line.lane]
            most = min(step, gates.room(lane), tenant.most(line, self._owed))
            count = rooms.take(line, most)
            if not count:
                tenant.close(line)
                continue
            gates.let_through(lane, count)
            quotas[line] = quotas.get(line, 0) + count
            self._owed = tenant.give(line, count, self._owed)
            heapreplace(tenants, (tag + count, number, tenant))
        return quotas

    def remember(self, works: ExecutionColumns) -> None:
        """These did get their places."""
        for number, count in Counter(works.lanes).items():
            lane = self._roster.lanes[number]
            self._tenants.give(lane.tenant_id, count, 1.0)
            self._flows.give(self._roster.flows[number], count, _weight(lane, self._roster.serving(number)))

    def _by_tenant(self, lines: Iterable[Backlog]) -> Mapping[int, list[Backlog]]:
        by_tenant: dict[int, list[Backlog]] = {}
        for line in lines:
            by_tenant.setdefault(self._roster.lanes[line.lane].tenant_id, []).append(line)
        return by_tenant


class _Tenant:
    """The lines of one tenant, while places are given away."""

    def __init__(self, lines: Sequence[Backlog], roster: ConnectedWorkers, turns: FairQueue[int]) -> None:
        self._roster = roster
        self._closed: set[Backlog] = set()
        self._aged = deque(
            sorted((line for line in lines if line.waited > AGED), key=lambda line: -line.waited)
        )
        by_level: dict[int, dict[int, deque[Backlog]]] = {}
        for line in lines:
            by_level.setdefault(line.priority, {}).setdefault(roster.flows[line.lane], deque()).append(line)
        self._levels = [
            [(turns.tag(flow), flow, waiting) for flow, waiting in flows.items()]
            for _, flows in sorted(by_level.items(), reverse=True)
        ]
        for level in self._levels:
            heapify(level)

    def next(self, owed: float) -> Backlog | None:
        """Whose turn it is; none when all are closed."""
        while self._aged and self._aged[0] in self._closed:
            self._aged.popleft()
        if self._aged and owed >= 1:
            return self._aged[0]
        while self._levels:
            level = self._levels[-1]
            while level:
                _, _, waiting = level[0]
                while waiting and waiting[0] in self._closed:
                    waiting.popleft()
                if waiting:
                    return waiting[0]
                heappop(level)
            self._levels.pop()
        return None

    def most(self, line: Backlog, owed: float) -> int:
        """One that goes because it has waited long gets only what is owed."""
        return int(owed) if self._is_aged_turn(line, owed) else _MOST

    def give(self, line: Backlog, count: int, owed: float) -> float:
        """It was given so many places; how many are owed to those that have waited long."""
        if self._is_aged_turn(line, owed):
            return owed - count
        tag, flow, waiting = self._levels[-1][0]
        waiting.rotate(-1)
        lane = self._roster.lanes[line.lane]
        share = count / _weight(lane, self._roster.serving(line.lane))
        heapreplace(self._levels[-1], (tag + share, flow, waiting))
        return owed + count / (_ONE_IN - 1) if self._aged else owed

    def _is_aged_turn(self, line: Backlog, owed: float) -> bool:
        return owed >= 1 and bool(self._aged) and line is self._aged[0]

    def close(self, line: Backlog) -> None:
        """Nothing more of it finds a place."""
        self._closed.add(line)


class _Rooms:
    """What workers could take, while it is being decided."""

    def __init__(self, roster: ConnectedWorkers) -> None:
        self._roster = roster
        self._spaces = {member: member.space() for member in roster}
        self.places = min(sum(space.places for space in self._spaces.values()), _MOST)

    def fits(self, line: Backlog) -> bool:
        needs = self._roster.lanes[line.lane].placement.resources
        return any(self._spaces[member].fits(needs) for member in self._roster.serving(line.lane))

    def take(self, line: Backlog, count: int) -> int:
        """How many of so many find a place."""
        needs = self._roster.lanes[line.lane].placement.resources
        taken = 0
        for member in self._roster.serving(line.lane):
            space = self._spaces[member]
            share = min(space.fits(needs), count - taken, self.places)
            if share:
                space.take(share, needs)
                self.places -= share
                taken += share
        return taken


def _weight(lane: Lane, members: Sequence[ConnectedWorker]) -> float:
    return lane.placement.weight * max((member.weight(lane.queue) for member in members), default=1.0)
