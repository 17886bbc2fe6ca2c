"""What pauses, limits and rates still let through, while their gates are locked."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from tickwork.model.quantities import Rate, parse_rate
from tickwork.store.port.dispatch import DispatchStore, Handover, Lane, Limiter, LimiterName, Slot

_ANY = 2**31


class _Bound(NamedTuple):
    """A gate as it holds for one lane."""

    gate: Limiter
    max_running: int | None
    rate: Rate | None


class LockedLimits:
    """The gates of some lanes. What is let through is counted here and written down before the commit.

    A lane whose gates were not asked for has no room at all: a worker that frees places while the locks are waited
    for can get work only of lanes whose limits were read under these locks."""

    def __init__(self, lanes: Iterable[Lane], gates: Iterable[Limiter]) -> None:
        self._gates = {gate.name: gate for gate in gates}
        self._counted: dict[int, int] = {}
        self._running: dict[int, int] = {}
        self._used_until: dict[int, datetime] = {}
        self._bounds = {lane.id: [*_bounds(lane, self._gates)] for lane in lanes}
        self.start_over()

    def start_over(self) -> None:
        """As if nothing had been let through."""
        self._running = dict(self._counted)
        self._used_until = {gate.id: gate.used_until for gate in self._gates.values()}

    @property
    def are_open(self) -> bool:
        """There are none."""
        return not self._gates

    def room(self, lane: Lane) -> int:
        """How many more of this lane may be handed out."""
        bounds = self._bounds.get(lane.id)
        if bounds is None:
            return 0
        return min((self._room(bound) for bound in bounds), default=_ANY)

    def let_through(self, lane: Lane, count: int) -> None:
        for gate, max_running, rate in self._bounds[lane.id]:
            if max_running is not None:
                self._running[gate.id] += count
            if rate is not None:
                self._used_until[gate.id] += count * rate.interval

    def slots(self, lane: Lane, places: range) -> Iterator[Slot]:
        for gate, max_running, _ in self._bounds[lane.id]:
            if max_running is not None:
                yield Slot(gate.id, places)

    async def count(self, handing: Handover, wanted: Sequence[tuple[Lane, int]], most: int) -> None:
        """How much runs under each gate that limits it: quickly, and exactly where that makes a difference."""
        asked: dict[int, int] = {}
        limits: dict[int, int] = {}
        for lane, count in wanted:
            for gate, max_running, _ in self._bounds[lane.id]:
                if max_running is not None:
                    asked[gate.id] = min(asked.get(gate.id, 0) + count, most)
                    limits[gate.id] = min(limits.get(gate.id, max_running), max_running)
        if asked:
            self._counted = await handing.running([*asked], exactly=False)
            tight = [gate for gate, count in asked.items() if self._counted[gate] + count > limits[gate]]
            if tight:
                self._counted |= await handing.running(tight, exactly=True)
            self.start_over()

    async def keep(self, handing: Handover) -> None:
        """Write down what was used of the rates."""
        used = {
            gate.id: self._used_until[gate.id]
            for gate in self._gates.values()
            if self._used_until[gate.id] > gate.used_until
        }
        if used:
            await handing.use_rates(used)

    def _room(self, bound: _Bound) -> int:
        if bound.gate.paused:
            return 0
        room = _ANY
        if bound.max_running is not None:
            room = max(bound.max_running - self._running[bound.gate.id], 0)
        if bound.rate is not None:
            room = min(room, _tokens(bound.rate, self._used_until[bound.gate.id], bound.gate.now))
        return room


async def forget_slots(store: DispatchStore) -> bool:
    """Clear away all that no longer counts under any gate, so that there is no more."""
    await store.forget_slots()
    return False


async def lock_limits(handing: Handover, wanted: Sequence[tuple[Lane, int]], most: int) -> LockedLimits:
    """Of these lanes, of which so many are wanted, and no more than that in all."""
    names = {name for lane, _ in wanted for name in gate_names(lane)}
    gates = LockedLimits([lane for lane, _ in wanted], await handing.lock_limiters(names) if names else ())
    await gates.count(handing, wanted, most)
    return gates


def gate_names(lane: Lane) -> Collection[LimiterName]:
    return [
        (lane.tenant_id, "queue", lane.queue),
        *[(lane.tenant_id, "key", limit.key) for limit in lane.placement.limits],
    ]


def _bounds(lane: Lane, gates: Mapping[LimiterName, Limiter]) -> Iterator[_Bound]:
    if queue := gates.get((lane.tenant_id, "queue", lane.queue)):
        yield _Bound(queue, queue.max_running, queue.rate)
    for limit in lane.placement.limits:
        rate = parse_rate(limit.rate) if limit.rate else None
        yield _Bound(gates[lane.tenant_id, "key", limit.key], limit.max_running, rate)


def _tokens(rate: Rate, used_until: datetime, now: datetime) -> int:
    """A bucket of the whole amount that fills evenly: what is used lies ahead of now, at most one period."""
    return max((now + rate.per - used_until) // rate.interval, 0)
