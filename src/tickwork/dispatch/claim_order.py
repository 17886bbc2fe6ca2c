"""Decides how many executions of each backlog start next: fairly among tenants, by priority, deadline, age and fair
share.

Start-time fair queueing: each contender has a tag that grows by what it was given, divided by its weight; the smallest
tag goes first. A contender that was idle starts a little behind the current tag (`CREDIT`): its short bursts overtake
contenders that always have work, and whatever exceeds the credit alternates with them.
"""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.limits import LockedLimits
from tickwork.store.port.dispatch import Backlog, ExecutionColumns, Lane

CREDIT = 100  # executions by which a contender that was idle may go ahead
_MOST_TAGS = 10_000  # beyond that, tags that no longer matter are deleted

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
        if len(self._tags) > _MOST_TAGS:
            self._tags = {other: tag for other, tag in self._tags.items() if tag > self._now - CREDIT}


AGED = 60.0  # seconds of waiting, after which priority alone does not decide
_ONE_IN = 10  # slots goes to an aged backlog
_MOST_SLOTS = 4000  # allotted in one call
_ROUNDS = 4  # of allotting: the more, the finer the shares


class ClaimOrder:
    """Remembers what each tenant and each fair share has had. Every node decides for its own workers."""

    def __init__(self, connected: ConnectedWorkers) -> None:
        self._connected = connected
        self._tenants: FairQueue[int] = FairQueue()
        self._flows: FairQueue[int] = FairQueue()
        self._owed = 0.0  # slots that aged backlogs are owed

    def allot(self, backlogs: Sequence[Backlog], limits: LockedLimits) -> dict[Backlog, int]:
        """How many executions of each backlog may start."""
        capacity = _WorkerCapacity(self._connected, limits)
        startable = [
            backlog
            for backlog in backlogs
            if limits.capacity(self._connected.lanes[backlog.lane]) and capacity.fits(backlog)
        ]
        step = max(capacity.slots // (_ROUNDS * len(startable)), 1) if startable else 1
        tenants = [
            (self._tenants.tag(number), number, _TenantBacklogs(of_tenant, self._connected, self._flows))
            for number, of_tenant in self._by_tenant(startable).items()
        ]
        heapify(tenants)
        quotas: dict[Backlog, int] = {}
        while tenants:
            tag, number, tenant = tenants[0]
            backlog = tenant.next(self._owed)
            if backlog is None:
                heappop(tenants)
                continue
            lane = self._connected.lanes[backlog.lane]
            most = min(step, limits.capacity(lane), tenant.most(backlog, self._owed))
            count = capacity.take(backlog, most)
            if not count:
                tenant.close(backlog)
                continue
            limits.use(lane, count)
            quotas[backlog] = quotas.get(backlog, 0) + count
            self._owed = tenant.give(backlog, count, self._owed)
            heapreplace(tenants, (tag + count, number, tenant))
        return quotas

    def record(self, executions: ExecutionColumns) -> None:
        """These executions were claimed."""
        for number, count in Counter(executions.lanes).items():
            lane = self._connected.lanes[number]
            weight = _weight(lane, self._connected.serving(number))
            self._tenants.give(lane.tenant_id, count, 1.0)
            self._flows.give(self._connected.flows[number], count, weight)

    def _by_tenant(self, backlogs: Iterable[Backlog]) -> Mapping[int, list[Backlog]]:
        by_tenant: dict[int, list[Backlog]] = {}
        for backlog in backlogs:
            by_tenant.setdefault(self._connected.lanes[backlog.lane].tenant_id, []).append(backlog)
        return by_tenant


class _TenantBacklogs:
    """The backlogs of one tenant, while slots are allotted."""

    def __init__(
        self, backlogs: Sequence[Backlog], connected: ConnectedWorkers, fair_queue: FairQueue[int]
    ) -> None:
        self._connected = connected
        self._closed: set[Backlog] = set()
        self._aged = deque(
            sorted((each for each in backlogs if each.waited > AGED), key=lambda each: -each.waited)
        )
        by_urgency: dict[tuple[int, float], dict[int, deque[Backlog]]] = {}
        for backlog in backlogs:
            flows = by_urgency.setdefault((connected.urgency(backlog), backlog.deadline), {})
            flows.setdefault(connected.flows[backlog.lane], deque()).append(backlog)
        self._levels = [
            [(fair_queue.tag(flow), flow, of_flow) for flow, of_flow in flows.items()]
            for _, flows in sorted(by_urgency.items(), reverse=True)
        ]
        for level in self._levels:
            heapify(level)

    def next(self, owed: float) -> Backlog | None:
        """The backlog that gets the next slots; None when all are closed."""
        while self._aged and self._aged[0] in self._closed:
            self._aged.popleft()
        if self._aged and owed >= 1:
            return self._aged[0]
        while self._levels:
            level = self._levels[-1]
            while level:
                _, _, of_flow = level[0]
                while of_flow and of_flow[0] in self._closed:
                    of_flow.popleft()
                if of_flow:
                    return of_flow[0]
                heappop(level)
            self._levels.pop()
        return None

    def most(self, backlog: Backlog, owed: float) -> int:
        """A backlog that is chosen for its age gets only what is owed."""
        return int(owed) if self._is_chosen_for_age(backlog, owed) else _MOST_SLOTS

    def give(self, backlog: Backlog, count: int, owed: float) -> float:
        """Give slots to a backlog; returns how many slots aged backlogs are owed then."""
        if self._is_chosen_for_age(backlog, owed):
            return owed - count
        tag, flow, of_flow = self._levels[-1][0]
        of_flow.rotate(-1)
        lane = self._connected.lanes[backlog.lane]
        share = count / _weight(lane, self._connected.serving(backlog.lane))
        heapreplace(self._levels[-1], (tag + share, flow, of_flow))
        return owed + count / (_ONE_IN - 1) if self._aged else owed

    def _is_chosen_for_age(self, backlog: Backlog, owed: float) -> bool:
        return owed >= 1 and bool(self._aged) and backlog is self._aged[0]

    def close(self, backlog: Backlog) -> None:
        """No worker has capacity for more of this backlog."""
        self._closed.add(backlog)


class _WorkerCapacity:
    """The free capacity of the connected workers, while slots are allotted."""

    def __init__(self, connected: ConnectedWorkers, limits: LockedLimits) -> None:
        self._connected = connected
        self._limits = limits
        self._free = {worker: worker.free_capacity() for worker in connected}
        self.slots = min(sum(free.slots for free in self._free.values()), _MOST_SLOTS)

    def fits(self, backlog: Backlog) -> bool:
        lane = self._connected.lanes[backlog.lane]
        return any(self._free[worker].fits(lane.placement.resources) for worker in self._workers(lane))

    def take(self, backlog: Backlog, count: int) -> int:
        """Use capacity for up to `count` executions; returns for how many there was enough."""
        lane = self._connected.lanes[backlog.lane]
        needs, taken = lane.placement.resources, 0
        for worker in self._workers(lane):
            free = self._free[worker]
            share = min(free.fits(needs), count - taken, self.slots)
            if share:
                free.take(share, needs)
                self._limits.use_worker(lane, worker)
                self.slots -= share
                taken += share
        return taken

    def _workers(self, lane: Lane) -> Sequence[ConnectedWorker]:
        return self._limits.allowed_workers(lane, self._connected.serving(lane.id))


def _weight(lane: Lane, workers: Sequence[ConnectedWorker]) -> float:
    return lane.placement.weight * max((worker.weight(lane.queue) for worker in workers), default=1.0)
