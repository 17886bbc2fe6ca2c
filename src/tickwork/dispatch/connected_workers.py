"""The workers that are connected to this node, which lanes they serve, and which of them gets an execution."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from tickwork.dispatch.assigned_executions import Assignment, Share
from tickwork.dispatch.connected_worker import ConnectedWorker, TraceHandover
from tickwork.dispatch.limits import LockedLimits
from tickwork.store.port.dispatch import ExecutionColumns, Lane


class LateBacklog(NamedTuple):
    """Executions that have waited too long only because workers are short."""

    priority: int  # the most urgent of them
    flow: int | None  # the fair share of those, if they all have the same one


class LaneSource(Protocol):
    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...


class ConnectedWorkers:
    def __init__(self, trace_handover: TraceHandover | None = None) -> None:
        self._trace_handover = trace_handover
        self._workers: dict[int, ConnectedWorker] = {}
        self._serving: dict[int, list[ConnectedWorker]] = {}
        self._first_of_flow: dict[tuple[int, str, str], int] = {}
        self.lanes: dict[int, Lane] = {}
        self.flows: dict[int, int] = {}  # of each lane: the first known lane with the same fair share
        self.late: LateBacklog | None = None

    def __iter__(self) -> Iterator[ConnectedWorker]:
        return iter(list(self._workers.values()))

    def __len__(self) -> int:
        return len(self._workers)

    def get(self, worker_id: int) -> ConnectedWorker | None:
        return self._workers.get(worker_id)

    def add(self, worker: ConnectedWorker) -> None:
        worker.use_lanes(self.lanes, self.flows)
        worker.trace_handover = self._trace_handover
        self._workers[worker.id] = worker
        self._match()

    def remove(self, worker: ConnectedWorker) -> None:
        """Does nothing if the worker has reconnected meanwhile."""
        if self._workers.get(worker.id) is worker:
            del self._workers[worker.id]
            self._match()

    async def load_lanes(self, lanes: Iterable[int], source: LaneSource) -> None:
        """Read those lanes that this node does not know yet."""
        unknown = {*lanes} - self.lanes.keys()
        if unknown:
            for lane in await source.lanes(unknown):
                self._add_lane(lane)

    def serving(self, lane: int) -> Sequence[ConnectedWorker]:
        return self._serving.get(lane, ())

    def free_slots(self) -> int:
        return sum(worker.free_slots for worker in self._workers.values())

    def slots(self) -> tuple[int, int]:
        """The slots of users' workers, and how many of them are taken. The built-in worker is left out: its slots are
        a bound on calls that mostly wait."""
        own = [worker for worker in self._workers.values() if worker.tenant_id is not None]
        return sum(each.slots for each in own), sum(min(each.leased_count, each.slots) for each in own)

    def assign(
        self, executions: ExecutionColumns, limits: LockedLimits, positions: Sequence[int] | None = None
    ) -> Assignment:
        """Choose a worker for each execution, as far as workers have capacity and the limits allow.

        With `positions`, only the executions at these positions."""
        chosen: dict[ConnectedWorker, list[Sequence[int]]] = defaultdict(list)
        for number, of_lane in _by_urgency(executions, positions):
            lane, workers = self.lanes[number], self.serving(number)
            allowed = of_lane[: limits.capacity(lane)] if any(each.free_slots for each in workers) else ()
            if not allowed:
                continue
            begin = 0
            for worker, count in _shares(len(allowed), workers, lane.placement.resources):
                share = allowed[begin : begin + count]
                worker.reserve(number, count)
                chosen[worker].append(share)
                begin += count
            limits.use(lane, begin)
        shares = [(worker, _joined(parts)) for worker, parts in chosen.items()]
        return Assignment(
            executions,
            [Share(worker, parts, executions.at(parts)) for worker, parts in shares],
            limits,
            self.lanes,
        )

    def _add_lane(self, lane: Lane) -> None:
        self.lanes[lane.id] = lane
        self.flows[lane.id] = self._first_of_flow.setdefault(
            (lane.tenant_id, lane.queue, lane.placement.flow), lane.id
        )
        self._match_lane(lane)

    def _match(self) -> None:
        self._serving.clear()
        for lane in self.lanes.values():
            self._match_lane(lane)

    def _match_lane(self, lane: Lane) -> None:
        workers = [worker for worker in self._workers.values() if worker.serves(lane)]
        if workers:
            self._serving[lane.id] = sorted(workers, key=lambda worker: worker.specialization)


def _by_urgency(
    executions: ExecutionColumns, positions: Sequence[int] | None
) -> Iterator[tuple[int, Sequence[int]]]:
    """Each lane with the positions of its executions: by priority, then the lane with the fewest executions first."""
    lanes, priorities = executions.lanes, executions.priorities
    if positions is None and _is_uniform(lanes) and _is_uniform(priorities):
        if lanes:
            yield lanes[0], range(len(lanes))
        return
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position in range(len(lanes)) if positions is None else positions:
        groups[priorities[position], lanes[position]].append(position)
    for (_, lane), group in sorted(groups.items(), key=lambda each: (each[0][0], len(each[1]))):
        yield lane, group


def _is_uniform(column: Sequence[int]) -> bool:
    return not column or column.count(column[0]) == len(column)


def _shares(
    count: int, workers: Sequence[ConnectedWorker], needs: Mapping[str, float]
) -> Iterator[tuple[ConnectedWorker, int]]:
    """How many each worker gets: evenly, the least specialized workers first; by best fit if resources are needed."""
    if needs:
        yield from _by_best_fit(count, workers, needs)
        return
    for _, equals in groupby(workers, key=lambda worker: worker.specialization):
        free = sorted((each for each in equals if each.free_slots), key=lambda each: each.free_slots)
        for served, worker in enumerate(free):
            share = min(worker.free_slots, -(-count // (len(free) - served)))
            if share:
                yield worker, share
                count -= share


def _by_best_fit(
    count: int, workers: Sequence[ConnectedWorker], needs: Mapping[str, float]
) -> Iterator[tuple[ConnectedWorker, int]]:
    for worker in sorted(workers, key=lambda worker: worker.free_capacity().best_fit(needs)):
        share = min(worker.free_capacity().fits(needs), count)
        if share:
            yield worker, share
            count -= share


def _joined(parts: Sequence[Sequence[int]]) -> Sequence[int]:
    return parts[0] if len(parts) == 1 else [position for part in parts for position in part]
