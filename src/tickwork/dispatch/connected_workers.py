"""The workers that are connected to this node, which lanes they serve, and which of them gets an execution."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from tickwork.dispatch.connected_worker import ConnectedWorker, TraceHandover
from tickwork.dispatch.handover_to_workers import Assignment, Share
from tickwork.dispatch.limits import LockedLimits
from tickwork.model.job import PRIORITIES
from tickwork.store.port.dispatch import Backlog, DispatchSettings, ExecutionColumns, Lane

_NORMAL = PRIORITIES.index("normal")


class LateBacklog(NamedTuple):
    """Executions that have waited too long only because workers are short."""

    urgency: int  # of the most urgent of them
    flow: int | None  # the fair share of those, if they all have the same one


class LaneSource(Protocol):
    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...


class ConnectedWorkers:
    def __init__(self, trace_handover: TraceHandover | None = None) -> None:
        self._trace_handover = trace_handover
        self._workers: dict[int, ConnectedWorker] = {}
        self._serving: dict[int, list[ConnectedWorker]] = {}
        self._first_of_flow: dict[tuple[int, str, str], int] = {}
        self._settings = DispatchSettings()
        self._ranks: dict[
            int, int
        ] = {}  # of lanes whose queue has a priority: how much that changes the urgency
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

    def match_again(self) -> None:
        """The labels or resources of a worker have changed."""
        self._match()

    def use_settings(self, settings: DispatchSettings) -> None:
        if settings == self._settings:
            return
        self._settings = settings
        self._ranks = {number: rank for number, lane in self.lanes.items() if (rank := self._rank(lane))}
        self._match()

    def is_disabled(self, tenant_id: int, task: str) -> bool:
        return (tenant_id, task) in self._settings.disabled_tasks

    def urgency(self, backlog: Backlog) -> int:
        """The lower, the sooner: by the priority of the queue, then by that of the job."""
        return backlog.priority + self._ranks.get(backlog.lane, 0)

    def urgencies(self, executions: ExecutionColumns) -> Sequence[int]:
        if not self._ranks:
            return executions.priorities
        placed = zip(executions.priorities, executions.lanes, strict=True)
        return [priority + self._ranks.get(lane, 0) for priority, lane in placed]

    def disconnect_all(self) -> None:
        """They connect again, and what each has is compared with what the database says."""
        for worker in self:
            worker.disconnect()

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
        for number, of_lane in _by_urgency(executions, positions, self._ranks):
            lane = self.lanes[number]
            workers = limits.allowed_workers(lane, self.serving(number))
            allowed = of_lane[: limits.capacity(lane)] if any(each.free_slots for each in workers) else ()
            if not allowed:
                continue
            begin = 0
            for worker, count in _shares(len(allowed), workers, lane.placement.resources):
                share = allowed[begin : begin + count]
                worker.reserve(number, count)
                limits.use_worker(lane, worker)
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
        if rank := self._rank(lane):
            self._ranks[lane.id] = rank
        self._match_lane(lane)

    def _rank(self, lane: Lane) -> int:
        priority = self._settings.queue_priorities.get((lane.tenant_id, lane.queue), _NORMAL)
        return (priority - _NORMAL) * len(PRIORITIES)

    def _match(self) -> None:
        self._serving.clear()
        for lane in self.lanes.values():
            self._match_lane(lane)

    def _match_lane(self, lane: Lane) -> None:
        if self.is_disabled(lane.tenant_id, lane.task):
            return
        workers = [worker for worker in self._workers.values() if worker.serves(lane)]
        if workers:
            self._serving[lane.id] = sorted(workers, key=lambda worker: worker.specialization)


def _by_urgency(
    executions: ExecutionColumns, positions: Sequence[int] | None, ranks: Mapping[int, int]
) -> Iterator[tuple[int, Sequence[int]]]:
    """Each lane with the positions of its executions: by urgency, then the lane with the fewest executions first."""
    lanes, priorities = executions.lanes, executions.priorities
    if positions is None and _is_uniform(lanes) and _is_uniform(priorities):
        if lanes:
            yield lanes[0], range(len(lanes))
        return
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position in range(len(lanes)) if positions is None else positions:
        groups[priorities[position], lanes[position]].append(position)
    urgent_first = sorted(
        (priority + ranks.get(lane, 0), len(group), lane, priority)
        for (priority, lane), group in groups.items()
    )
    for _, _, lane, priority in urgent_first:
        yield lane, groups[priority, lane]


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
