"""A worker that is connected to this node: the executions leased to it, and its free slots and resources."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from time import time_ns
from typing import Protocol

import msgspec

from tickwork.execution_metrics import COMPLETED, NOT_STARTED, START_DELAY
from tickwork.model.command_allow_list import allows
from tickwork.model.requires_limits_fair_share import labels_match
from tickwork.model.worker import WorkerLoad
from tickwork.model.worker_protocol import Claim, FromServer, Hello, Key, Outcome, Run, Runs
from tickwork.store.port.dispatch import ExecutionColumns, Heard, Lane, WorkerConnection

_ROUNDING = 1e-9  # 0.1 three times is a little more than 0.3


class TraceHandover(Protocol):
    def __call__(
        self, executions: ExecutionColumns, lanes: Mapping[int, Lane], began: int, /
    ) -> Mapping[int, str]:
        """The traceparents of the executions that are sampled, by index. `began`: nanoseconds."""


class FreeCapacity:
    __slots__ = ("resources", "slots")

    def __init__(self, slots: int, resources: dict[str, float]) -> None:
        self.slots = slots
        self.resources = resources

    def fits(self, needs: Mapping[str, float]) -> int:
        """How many executions with these needs fit."""
        if not needs or self.slots <= 0:
            return max(self.slots, 0)
        by_resource = (
            int(self.resources.get(name, 0.0) / amount + _ROUNDING) for name, amount in needs.items()
        )
        return max(min(self.slots, *by_resource), 0)

    def take(self, count: int, needs: Mapping[str, float]) -> None:
        self.slots -= count
        for name, amount in needs.items():
            self.resources[name] -= count * amount

    def best_fit(self, needs: Mapping[str, float]) -> tuple[float, int]:
        """A sort key: the worker with the least to spare comes first."""
        return sum(self.resources.get(name, 0.0) / amount for name, amount in needs.items()), self.slots


class ConnectedWorker:
    def __init__(
        self,
        connection: WorkerConnection,
        tenant_id: int | None,
        hello: Hello,
        send: Callable[[FromServer], None],
        disconnect: Callable[[], None],
    ) -> None:
        self.id = connection.worker_id
        self.name = hello.name
        self.connection = connection
        self.tenant_id = tenant_id
        self.send = send
        self.disconnect = disconnect
        self.slots = hello.slots
        self.credit = hello.credit
        self.draining = False
        self.reserved = 0  # slots promised to a transaction that has not committed
        self.unstored_bytes = 0  # of checkpoints that it has sent
        self.recalled: set[Claim] = set()  # attempts for which it was sent what earlier ones have stored
        self.uncertain_leases: set[int] = set()  # from commits whose answer was lost
        self.trace_handover: TraceHandover | None = None
        self._lanes: Mapping[int, Lane] = {}  # those that its node knows
        self._flows: Mapping[int, int] = {}  # of these lanes
        self._tasks = frozenset(offer.name for offer in hello.tasks)
        self._commands = hello.commands
        self._queues = frozenset(hello.queues)
        self._weights = hello.weights
        self._labels: Mapping[str, str] = hello.labels
        self._resources: Mapping[str, float] = hello.resources
        self._counts_resources = bool(hello.resources)  # it has some, or had
        self._used: defaultdict[str, float] = defaultdict(float)
        self.load: WorkerLoad | None = None  # what it last measured
        self._unstored_load: WorkerLoad | None = None
        self._unstored_labels: Mapping[str, str] | None = None
        self._unstored_resources: Mapping[str, float] | None = None
        # Attempt, lease, lane and earliest start of each execution.
        self._leased: dict[Key, tuple[int, int, int, int]] = {}
        self._unended: dict[int, int] = {}  # number of executions that are left of each lease

    @property
    def free_slots(self) -> int:
        return 0 if self.draining else max(self.credit - len(self._leased) - self.reserved, 0)

    @property
    def leased_count(self) -> int:
        return len(self._leased)

    def use_lanes(self, lanes: Mapping[int, Lane], flows: Mapping[int, int]) -> None:
        """Share the node's mappings, which grow as new lanes appear."""
        self._lanes, self._flows = lanes, flows

    def free_capacity(self) -> FreeCapacity:
        return FreeCapacity(
            self.free_slots, {name: total - self._used[name] for name, total in self._resources.items()}
        )

    def change(self, labels: Mapping[str, str] | None, resources: Mapping[str, float] | None) -> None:
        """The worker has other labels or resources from now on; None: as before. What it runs goes on. Call
        `ConnectedWorkers.match_again` afterwards."""
        if labels is not None:
            self._labels = self._unstored_labels = labels
        if resources is not None:
            self._resources = self._unstored_resources = resources
            self._counts_resources = self._counts_resources or bool(resources)

    def heard(self) -> Heard:
        """A heartbeat, with what the worker measured and changed and the store does not know."""
        return Heard(self.connection, self._unstored_load, self._unstored_labels, self._unstored_resources)

    def stored(self, heard: Heard) -> None:
        """Forget what was written, unless it has changed meanwhile."""
        if self._unstored_load is heard.load:
            self._unstored_load = None
        if self._unstored_labels is heard.labels:
            self._unstored_labels = None
        if self._unstored_resources is heard.resources:
            self._unstored_resources = None

    def measured(self, load: WorkerLoad) -> None:
        self.load = self._unstored_load = load

    def serves(self, lane: Lane) -> bool:
        """The built-in worker belongs to no tenant and serves all of them."""
        return (
            self.tenant_id in (None, lane.tenant_id)
            and self._offers(lane)
            and not lane.placement.fans_out
            and not lane.placement.awaits_task
            and lane.placement.worker in (None, self.name)
            and (not self._queues or lane.queue in self._queues)
            and labels_match(lane.placement.labels, self._labels)
            and all(self._resources.get(name, 0.0) >= need for name, need in lane.placement.resources.items())
        )

    def _offers(self, lane: Lane) -> bool:
        if lane.placement.program is not None:
            return allows(self._commands, lane.placement.program)
        return lane.task in self._tasks

    @property
    def specialization(self) -> int:
        """How many resources and labels it has. Executions that need none go to less specialized workers first."""
        return len(self._resources) + len(self._labels)

    def weight(self, queue: str) -> float:
        return self._weights.get(queue, 1.0)

    def leased_attempt(self, key: Key) -> int | None:
        """The attempt of this execution that the worker has, if any."""
        leased = self._leased.get(key)
        return leased[0] if leased else None

    def reserve(self, lane: int, count: int) -> None:
        self.reserved += count
        if self._counts_resources:
            self._use_lane(lane, count)

    def unreserve(self, executions: ExecutionColumns) -> None:
        self.reserved -= executions.size
        self._use(executions, -1)

    def add_lease(self, executions: ExecutionColumns, lease_id: int) -> None:
        """The worker has these from now on, whether or not they have been sent to it."""
        keys = list(executions.keys())
        if not self._leased.keys().isdisjoint(keys):
            self._remove_stale(keys)
        leased = zip(executions.attempts, repeat(lease_id), executions.lanes, executions.ready, strict=False)
        self._leased.update(zip(keys, leased, strict=True))
        self._use(executions, 1)
        self._unended[lease_id] = self._unended.get(lease_id, 0) + executions.size

    def _remove_stale(self, keys: Iterable[Key]) -> None:
        """Remove earlier attempts that were taken away from the worker before it reported an outcome."""
        stale = [self._leased.pop(key) for key in self._leased.keys() & set(keys)]
        self._count_removed([lease for _, lease, _, _ in stale], [lane for _, _, lane, _ in stale])

    def drop_attempt(self, key: Key) -> None:
        """The attempt was ended without the worker: its slot is free, and what the worker reports of it is stale."""
        self._remove_stale([key])

    def end_attempts(self, outcomes: Iterable[Outcome]) -> tuple[list[Outcome], Sequence[int], list[int]]:
        """Remove the attempts that ended. Returns the outcomes of attempts that the worker had, their lanes, and the
        leases of which no execution is left."""
        accepted, removed = [], []
        leased = self._leased
        for outcome in outcomes:
            key = (outcome.tenant, outcome.at, outcome.job)
            found = leased.get(key)
            if found and found[0] == outcome.attempt:
                del leased[key]
                accepted.append(outcome)
                removed.append(found)
        if not accepted:
            return [], [], []
        _, leases, lanes, ready = zip(*removed, strict=True)
        START_DELAY.add(
            [
                outcome.started - at
                for outcome, at in zip(accepted, ready, strict=True)
                if outcome.kind is COMPLETED or outcome.kind not in NOT_STARTED
            ]
        )
        return accepted, lanes, self._count_removed(leases, lanes)

    def _count_removed(self, leases: Sequence[int], lanes: Sequence[int]) -> list[int]:
        """Free what executions of these lanes used. Returns the leases of which no execution is left."""
        if self._counts_resources:
            for lane in lanes:
                self._use_lane(lane, -1)
        ended = []
        for lease, count in Counter(leases).items():
            self._unended[lease] -= count
            if not self._unended[lease]:
                del self._unended[lease]
                ended.append(lease)
        return ended

    def send_executions(self, executions: ExecutionColumns, began: int | None = None) -> None:
        """`began`: when the hand-over began, in nanoseconds; now, if they are only sent again."""
        columns = (
            executions.tenants,
            executions.times,
            executions.jobs,
            executions.attempts,
            executions.tasks,
            executions.payloads,
            executions.timeouts,
            executions.ready,
            executions.targets,
            executions.priorities,
            map(self._flows.__getitem__, executions.lanes),
            executions.parents,
        )
        runs = list(map(Run, *columns))
        if self.trace_handover:
            traceparents = self.trace_handover(executions, self._lanes, began or time_ns())
            for index, traceparent in traceparents.items():
                runs[index] = msgspec.structs.replace(runs[index], traceparent=traceparent)
        self.send(Runs(runs))

    def _use(self, executions: ExecutionColumns, sign: int) -> None:
        if self._counts_resources:
            for lane in executions.lanes:
                self._use_lane(lane, sign)

    def _use_lane(self, lane: int, count: int) -> None:
        for name, amount in self._lanes[lane].placement.resources.items():
            self._used[name] += count * amount
