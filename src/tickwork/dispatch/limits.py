"""How many executions pauses, limits and rates still allow, while the limiters are locked."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from tickwork.model.quantities import Rate, parse_rate
from tickwork.store.port.dispatch import DispatchStore, Handover, Lane, Limiter, LimiterName, Slot

_UNLIMITED = 2**31


class _LaneLimit(NamedTuple):
    """A limiter with the limits that it sets for one lane."""

    limiter: Limiter
    max_running: int | None
    rate: Rate | None


class LockedLimits:
    """The limiters of some lanes. Counts what is started under them in memory, and writes it before the commit.

    A lane whose limiters were not requested has no capacity at all: a worker that frees slots while the locks are
    waited for gets executions only from lanes whose limits were read under these locks."""

    def __init__(self, lanes: Iterable[Lane], limiters: Iterable[Limiter]) -> None:
        self._limiters = {limiter.name: limiter for limiter in limiters}
        self._counted: dict[int, int] = {}
        self._running: dict[int, int] = {}
        self._used_until: dict[int, datetime] = {}
        self._lane_limits = {lane.id: [*_lane_limits(lane, self._limiters)] for lane in lanes}
        self.reset()

    def reset(self) -> None:
        """Undo every `use`."""
        self._running = dict(self._counted)
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
        for limiter, max_running, rate in self._lane_limits[lane.id]:
            if max_running is not None:
                self._running[limiter.id] += count
            if rate is not None:
                self._used_until[limiter.id] += count * rate.interval

    def slots(self, lane: Lane, positions: range) -> Iterator[Slot]:
        for limiter, max_running, _ in self._lane_limits[lane.id]:
            if max_running is not None:
                yield Slot(limiter.id, positions)

    async def count_running(self, handover: Handover, wanted: Sequence[tuple[Lane, int]], most: int) -> None:
        """Estimate how many run under each limiter, and count exactly where the estimate might reach the limit."""
        requested: dict[int, int] = {}
        lowest: dict[int, int] = {}
        for lane, count in wanted:
            for limiter, max_running, _ in self._lane_limits[lane.id]:
                if max_running is not None:
                    requested[limiter.id] = min(requested.get(limiter.id, 0) + count, most)
                    lowest[limiter.id] = min(lowest.get(limiter.id, max_running), max_running)
        if requested:
            self._counted = await handover.running([*requested], exactly=False)
            tight = [each for each, count in requested.items() if self._counted[each] + count > lowest[each]]
            if tight:
                self._counted |= await handover.running(tight, exactly=True)
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
    await limits.count_running(handover, wanted, most)
    return limits


def limiter_names(lane: Lane) -> Collection[LimiterName]:
    return [
        (lane.tenant_id, "queue", lane.queue),
        *[(lane.tenant_id, "key", limit.key) for limit in lane.placement.limits],
    ]


def _lane_limits(lane: Lane, limiters: Mapping[LimiterName, Limiter]) -> Iterator[_LaneLimit]:
    if queue := limiters.get((lane.tenant_id, "queue", lane.queue)):
        yield _LaneLimit(queue, queue.max_running, queue.rate)
    for limit in lane.placement.limits:
        rate = parse_rate(limit.rate) if limit.rate else None
        yield _LaneLimit(limiters[lane.tenant_id, "key", limit.key], limit.max_running, rate)


def _tokens(rate: Rate, used_until: datetime, now: datetime) -> int:
    """A token bucket that holds the whole amount and refills evenly: `used_until` is at most one period after now."""
    return max((now + rate.per - used_until) // rate.interval, 0)
