"""How many executions, and on which workers, pauses, limits and rates still allow, while the limiters are locked."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.model.quantities import Rate, parse_rate
from tickwork.store.port.dispatch import DispatchStore, Handover, Lane, Limiter, LimiterName, Slot

_UNLIMITED = 2**31


class _LaneLimit(NamedTuple):
    """A limiter with the limits that it sets for one lane."""

    limiter: Limiter
    max_running: int | None
    rate: Rate | None
    max_workers: int | None = None

    @property
    def takes_slots(self) -> bool:
        """What runs under it is counted."""
        return self.max_running is not None or self.max_workers is not None


class LockedLimits:
    """The limiters of some lanes. Counts what is started under them in memory, and writes it before the commit.

    A lane whose limiters were not requested has no capacity at all: a worker that frees slots while the locks are
    waited for gets executions only from lanes whose limits were read under these locks."""

    def __init__(self, lanes: Iterable[Lane], limiters: Iterable[Limiter]) -> None:
        self._limiters = {limiter.name: limiter for limiter in limiters}
        self._counted: dict[int, int] = {}
        self._running: dict[int, int] = {}
        self._used_until: dict[int, datetime] = {}
        # By limiter: the workers that have executions of it. Only where their number is limited.
        self._workers_counted: Mapping[int, Collection[int]] = {}
        self._workers: dict[int, set[int]] = {}
        self._lane_limits = {lane.id: [*_lane_limits(lane, self._limiters)] for lane in lanes}
        self.reset()

    def reset(self) -> None:
        """Undo every `use`."""
        self._running = dict(self._counted)
        self._workers = {limiter: {*workers} for limiter, workers in self._workers_counted.items()}
        self._used_until = {limiter.id: limiter.used_until for limiter in self._limiters.values()}

    @property
    def is_empty(self) -> bool:
        return not self._limiters

    def capacity(self, lane: Lane) -> int:
        """How many more executions of this lane may start."""
        limits = self._lane_limits.get(lane.id)
        if limits is None:
            return 0
        return min((self._capacity(limit) for limit in limits), default=_UNLIMITED)

    def use(self, lane: Lane, count: int) -> None:
        for limiter, max_running, rate, _ in self._lane_limits[lane.id]:
            if max_running is not None:
                self._running[limiter.id] += count
            if rate is not None:
                self._used_until[limiter.id] += count * rate.interval

    def allowed_workers(self, lane: Lane, workers: Sequence[ConnectedWorker]) -> Sequence[ConnectedWorker]:
        """Those of the workers that may get executions of this lane, in the same order."""
        if not self._workers:
            return workers
        for limit in self._lane_limits.get(lane.id, ()):
            if limit.max_workers is not None:
                allowed = _allowed(workers, self._workers[limit.limiter.id], limit.max_workers)
                return [worker for worker in workers if worker.id in allowed]
        return workers

    def use_worker(self, lane: Lane, worker: ConnectedWorker) -> None:
        """The worker gets executions of this lane."""
        if self._workers:
            for limit in self._lane_limits[lane.id]:
                if limit.max_workers is not None:
                    self._workers[limit.limiter.id].add(worker.id)

    def slots(self, lane: Lane, positions: range) -> Iterator[Slot]:
        for limit in self._lane_limits[lane.id]:
            if limit.takes_slots:
                yield Slot(limit.limiter.id, positions)

    async def count_running(self, handover: Handover, wanted: Sequence[tuple[Lane, int]], most: int) -> None:
        """Estimate how many run under each limiter, and count exactly where the estimate might reach the limit."""
        requested: dict[int, int] = {}
        lowest: dict[int, int] = {}
        for lane, count in wanted:
            for limiter, max_running, _, _ in self._lane_limits[lane.id]:
                if max_running is not None:
                    requested[limiter.id] = min(requested.get(limiter.id, 0) + count, most)
                    lowest[limiter.id] = min(lowest.get(limiter.id, max_running), max_running)
        if requested:
            self._counted = await handover.running([*requested], exactly=False)
            tight = [each for each, count in requested.items() if self._counted[each] + count > lowest[each]]
            if tight:
                self._counted |= await handover.running(tight, exactly=True)
            self.reset()

    async def find_workers(self, handover: Handover) -> None:
        """Read which workers have executions, under the limiters that limit their number."""
        limited = {
            limit.limiter.id
            for limits in self._lane_limits.values()
            for limit in limits
            if limit.max_workers is not None
        }
        if limited:
            self._workers_counted = await handover.workers_under([*limited])
            self.reset()

    async def write_rates(self, handover: Handover) -> None:
        """Store how much of each rate was used."""
        used = {
            limiter.id: self._used_until[limiter.id]
            for limiter in self._limiters.values()
            if self._used_until[limiter.id] > limiter.used_until
        }
        if used:
            await handover.use_rates(used)

    def _capacity(self, limit: _LaneLimit) -> int:
        limiter = limit.limiter
        if limiter.paused:
            return 0
        capacity = _UNLIMITED
        if limit.max_running is not None:
            capacity = max(limit.max_running - self._running[limiter.id], 0)
        if limit.rate is not None:
            capacity = min(capacity, _tokens(limit.rate, self._used_until[limiter.id], limiter.now))
        return capacity


async def clean_up_slots(store: DispatchStore) -> bool:
    """Delete the slots of ended executions. One step deletes them all, so there is never more to do."""
    await store.forget_slots()
    return False


async def lock_limits(handover: Handover, wanted: Sequence[tuple[Lane, int]], most: int) -> LockedLimits:
    """Lock the limiters of these lanes. `wanted` says how many executions of each may start, `most` how many in all."""
    names = {name for lane, _ in wanted for name in limiter_names(lane)}
    limits = LockedLimits([lane for lane, _ in wanted], await handover.lock_limiters(names) if names else ())
    if not limits.is_empty:
        await limits.count_running(handover, wanted, most)
        await limits.find_workers(handover)
    return limits


def limiter_names(lane: Lane) -> Collection[LimiterName]:
    return [
        (lane.tenant_id, "queue", lane.queue),
        *[(lane.tenant_id, "key", limit.key) for limit in lane.placement.limits],
    ]


def _lane_limits(lane: Lane, limiters: Mapping[LimiterName, Limiter]) -> Iterator[_LaneLimit]:
    if queue := limiters.get((lane.tenant_id, "queue", lane.queue)):
        yield _LaneLimit(queue, queue.max_running, queue.rate, queue.max_workers)
    for limit in lane.placement.limits:
        rate = parse_rate(limit.rate) if limit.rate else None
        yield _LaneLimit(limiters[lane.tenant_id, "key", limit.key], limit.max_running, rate)


def _allowed(workers: Sequence[ConnectedWorker], at_work: Collection[int], most: int) -> Collection[int]:
    """Those at work already, and then those with the most free slots. If more are at work than may be, all nodes
    let the same ones go on."""
    staying = sorted(at_work)[:most]
    others = [worker for worker in workers if worker.id not in at_work and worker.free_slots]
    others.sort(key=lambda worker: worker.free_slots, reverse=True)
    return {*staying, *(worker.id for worker in others[: most - len(staying)])}


def _tokens(rate: Rate, used_until: datetime, now: datetime) -> int:
    """A token bucket that holds the whole amount and refills evenly: `used_until` is at most one period after now."""
    return max((now + rate.per - used_until) // rate.interval, 0)
