"""Keeps statistics up: counts what is missing in them from the executions, and merges minutes into hours and days.

Counting from the executions is for what no node has counted in memory: minutes in which one was killed, and executions
that no rule created. A minute may have millions of executions, so they are read a slice at a time, with a rest as long
as that took: it never takes more than half a processor, and no transaction is long.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from time import monotonic

from tickwork.store.port.statistics import CountedSlice, MinuteCounts, MinuteToCount, Place, StatisticsStore

_SLICE = 20_000  # executions that are read by one statement
_LONGEST_REST = 5.0  # seconds


class StatisticsUpkeep:
    """What one node at a time does for all."""

    def __init__(self, store: StatisticsStore) -> None:
        self._store = store
        self._count: _Count | None = None

    async def keep_up(self) -> bool:
        """Count a slice, or merge what has passed. Returns whether there may be more to do."""
        await self._store.find_silent_nodes()
        return any([await self._count_some(), await self._store.merge()])

    async def _count_some(self) -> bool:
        if self._count is None:
            minute = await self._store.begin_count()
            if minute is None:
                return False
            self._count = _Count(minute)
        elif not await self._store.renew_count(self._count.minute):
            self._count = None  # this node was silent for so long that another one took over
            return True
        began = monotonic()
        await self._count_slices(self._count)
        if self._count.is_done:
            await self._store.end_count(self._count.minute, list(self._count.counted()))
            self._count = None
        await asyncio.sleep(min(monotonic() - began, _LONGEST_REST))
        return True

    async def _count_slices(self, count: "_Count") -> None:
        """At most as many executions as one slice has: of one tenant that has many, or of several that have few."""
        left = _SLICE
        while left > 0 and not count.is_done:
            found = await self._store.count_slice(count.minute, count.tenant_id, count.after, left)
            count.add(found, is_last=found.size < left)
            left -= max(found.size, 1)


class _Count:
    """How far the count of a minute has come, and what it has found."""

    def __init__(self, minute: MinuteToCount) -> None:
        self.minute = minute
        self.after: Place = (minute.begin, 0)
        self._tenants = list(minute.tenants)
        self._fired: Counter[int] = Counter()  # by lane
        self._started: Counter[int] = Counter()
        self._completed: Counter[int] = Counter()
        self._delays: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self._runs: defaultdict[int, Counter[int]] = defaultdict(Counter)

    @property
    def is_done(self) -> bool:
        return not self._tenants

    @property
    def tenant_id(self) -> int:
        return self._tenants[-1]

    def add(self, found: CountedSlice, *, is_last: bool) -> None:
        """`is_last`: of the tenant."""
        self._fired.update(found.fired)
        if not self.minute.fired_only:
            self._add_attempts(found)
        if found.last and not is_last:
            self.after = found.last
        else:
            self._tenants.pop()
            self.after = (self.minute.begin, 0)

    def _add_attempts(self, found: CountedSlice) -> None:
        for lane, delay, number in found.started:
            self._started[lane] += number
            if delay is not None:
                self._delays[lane][delay] += number
        for lane, run, number in found.completed:
            self._completed[lane] += number
            self._runs[lane][run] += number

    def counted(self) -> Iterator[MinuteCounts]:
        for lane in {*self._fired, *self._started, *self._completed}:
            yield MinuteCounts(
                self.minute.minute,
                lane,
                self._fired[lane],
                self._started[lane],
                self._completed[lane],
                self._delays[lane],
                self._runs[lane],
            )
