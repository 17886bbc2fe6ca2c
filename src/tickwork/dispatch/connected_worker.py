"""A worker that is connected to this node: what it holds, and its free slots and resources."""

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat

from tickwork.model.placement import labels_match
from tickwork.model.worker_protocol import FromServer, Hello, Key, Outcome, Run, Runs
from tickwork.store.port.dispatch import ExecutionColumns, Lane, WorkerConnection

_ROUNDING = 1e-9  # 0.1 three times is a little more than 0.3


class FreeCapacity:
    __slots__ = ("free", "places")

    def __init__(self, places: int, free: dict[str, float]) -> None:
        self.places = places
        self.free = free

    def fits(self, needs: Mapping[str, float]) -> int:
        """How many with such needs."""
        if not needs or self.places <= 0:
            return max(self.places, 0)
        by_resource = (int(self.free.get(name, 0.0) / amount + _ROUNDING) for name, amount in needs.items())
        return max(min(self.places, *by_resource), 0)

    def take(self, count: int, needs: Mapping[str, float]) -> None:
        self.places -= count
        for name, amount in needs.items():
            self.free[name] -= count * amount

    def spare(self, needs: Mapping[str, float]) -> tuple[float, int]:
        """What would be left: the worker with the least of it fits best."""
        return sum(self.free.get(name, 0.0) / amount for name, amount in needs.items()), self.places


class ConnectedWorker:
    def __init__(
        self,
        seat: WorkerConnection,
        tenant_id: int | None,
        hello: Hello,
        send: Callable[[FromServer], None],
        dismiss: Callable[[], None],
    ) -> None:
        self.seat = seat
        self.tenant_id = tenant_id
        self.send = send
        self.dismiss = dismiss  # it has come back on another connection, so that this one must end
        self.credit = hello.credit
        self.draining = False
        self.reserved = 0  # room promised to a transaction that has not committed
        self.doubtful: set[int] = set()  # leases that a commit without an answer may have given it
        self._lanes: Mapping[int, Lane] = {}  # those that its node knows
        self._flows: Mapping[int, int] = {}  # of these lanes
        self._tasks = frozenset(offer.name for offer in hello.tasks)
        self._queues = frozenset(hello.queues)
        self._weights = hello.weights
        self._labels = hello.labels
        self._resources = hello.resources
        self._used = dict.fromkeys(hello.resources, 0.0)
        self._hands: dict[Key, tuple[int, int]] = {}  # attempt and lease of each
        self._lane_of: dict[Key, int] = {}  # only when resources are counted
        self._left: dict[int, int] = {}  # of each lease

    @property
    def room(self) -> int:
        return 0 if self.draining else max(self.credit - len(self._hands) - self.reserved, 0)

    @property
    def holding(self) -> int:
        return len(self._hands)

    def learn(self, lanes: Mapping[int, Lane], flows: Mapping[int, int]) -> None:
        """Where to look up what it is handed."""
        self._lanes, self._flows = lanes, flows

    def space(self) -> FreeCapacity:
        return FreeCapacity(
            self.room, {name: total - self._used[name] for name, total in self._resources.items()}
        )

    def serves(self, lane: Lane) -> bool:
        """The built-in worker belongs to no tenant and serves all of them."""
        return (
            self.tenant_id in (None, lane.tenant_id)
            and lane.task in self._tasks
            and (not self._queues or lane.queue in self._queues)
            and labels_match(lane.placement.labels, self._labels)
            and all(self._resources.get(name, 0.0) >= need for name, need in lane.placement.resources.items())
        )

    @property
    def is_special(self) -> int:
        """By how much it has what only some jobs need: others go elsewhere first."""
        return len(self._resources) + len(self._labels)

    def weight(self, queue: str) -> float:
        return self._weights.get(queue, 1.0)

    def attempt_in_hand(self, key: Key) -> int | None:
        held = self._hands.get(key)
        return held[0] if held else None

    def reserve(self, lane: int, count: int) -> None:
        self.reserved += count
        if self._resources:
            self._use_lane(lane, count)

    def unreserve(self, works: ExecutionColumns) -> None:
        self.reserved -= works.size
        self._use(works, -1)

    def take(self, works: ExecutionColumns, lease_id: int) -> None:
        """These are in its hands from now on, whether or not it has been told."""
        keys = list(works.keys())
        if not self._hands.keys().isdisjoint(keys):
            self._put_down_stale(keys)
        self._hands.update(zip(keys, zip(works.attempts, repeat(lease_id), strict=False), strict=True))
        if self._resources:
            self._lane_of.update(zip(keys, works.lanes, strict=True))
            self._use(works, 1)
        self._left[lease_id] = self._left.get(lease_id, 0) + works.size

    def _put_down_stale(self, keys: Iterable[Key]) -> None:
        """Attempts that were taken back from it and that it has not told the end of."""
        for key in self._hands.keys() & set(keys):
            self._put_down(key, self._hands[key][1])

    def doubt(self, lease_id: int) -> None:
        self.doubtful.add(lease_id)

    def end(self, outcomes: Iterable[Outcome]) -> tuple[list[Outcome], list[int]]:
        """Put down what has ended: those of the outcomes that are about something in its hands, and the leases of
        which nothing is left there."""
        ours, leases = [], []
        in_hand = self._hands.get
        for outcome in outcomes:
            key = (outcome.tenant, outcome.at, outcome.job)
            held = in_hand(key)
            if held and held[0] == outcome.attempt:
                ours.append(outcome)
                lease = self._put_down(key, held[1])
                if lease is not None:
                    leases.append(lease)
        return ours, leases

    def _put_down(self, key: Key, lease_id: int) -> int | None:
        """One less in its hands; the lease, when that was the last of it."""
        del self._hands[key]
        if self._resources:
            self._use_lane(self._lane_of.pop(key), -1)
        left = self._left[lease_id] - 1
        if left:
            self._left[lease_id] = left
            return None
        del self._left[lease_id]
        return lease_id

    def deliver(self, works: ExecutionColumns) -> None:
        runs = map(
            Run,
            works.tenants,
            works.times,
            works.jobs,
            works.attempts,
            works.tasks,
            works.payloads,
            works.timeouts,
            works.ready,
            works.targets,
            works.priorities,
            map(self._flows.__getitem__, works.lanes),
            works.parents,
        )
        self.send(Runs(list(runs)))

    def _use(self, works: ExecutionColumns, sign: int) -> None:
        if self._resources:
            for lane in works.lanes:
                self._use_lane(lane, sign)

    def _use_lane(self, lane: int, count: int) -> None:
        for name, amount in self._lanes[lane].placement.resources.items():
            self._used[name] += count * amount
