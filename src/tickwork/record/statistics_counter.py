"""Counts what is ordinary in the memory of a node, and appends it to the statistics every few seconds.

Counting costs a fraction of a microsecond for each execution: a batch is counted as a whole, and durations are put into
buckets only when they are written. What a killed node has not written is counted again from the executions.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from operator import rshift

from tickwork.model.public_ids import from_micros
from tickwork.model.statistics import MINUTE, ORDINARY_MICROS, UNIT_BITS, in_buckets
from tickwork.model.worker_protocol import Micros
from tickwork.store.port.record import CompletedColumns, Reported
from tickwork.store.port.statistics import (
    MinuteCounts,
    StatisticsStore,
    StatisticsWrite,
    UnknownWriter,
    Writer,
)


class _Minute:
    """What happened in a lane in a minute. Durations are counted by their length in units of the histogram."""

    __slots__ = ("completed", "delays", "fired", "runs", "started")

    def __init__(self) -> None:
        self.fired = 0
        self.started = 0
        self.completed = 0
        self.delays: Counter[int] = Counter()
        self.runs: Counter[int] = Counter()


class StatisticsCounter:
    def __init__(self, store: StatisticsStore) -> None:
        self._store = store
        # By lane and number of the minute.
        self._minutes: defaultdict[tuple[int, int], _Minute] = defaultdict(_Minute)
        self._uncertain: set[int] = set()  # minutes to be counted again
        self._writer: Writer | None = None
        self._unwritten: StatisticsWrite | None = None  # a write that may have to be repeated

    def count_fired(self, lanes: Sequence[int], times: Sequence[Micros]) -> None:
        """Count executions that rules created, at least one: the lane and the due time of each."""
        if lanes.count(lanes[0]) == len(lanes) and times.count(times[0]) == len(times):  # as nearly always
            self._minutes[lanes[0], times[0] // MINUTE].fired += len(lanes)
            return
        for (lane, at), number in Counter(zip(lanes, times, strict=True)).items():
            self._minutes[lane, at // MINUTE].fired += number

    def recount_fired(self, times: Iterable[Micros]) -> None:
        """Executions with these due times may have been created: the answer to the commit was lost."""
        self._uncertain.update(at // MINUTE for at in times)

    def count_completed(self, completed: CompletedColumns, recorded: int) -> None:
        """Count executions that completed, of which so many were recorded. Those that are overdue were counted by the
        store."""
        if recorded < len(completed.outcomes):
            # Some were repeated, or are not the worker's any more: which, is not known.
            self._uncertain.update({micros // MINUTE for micros in (*completed.started, *completed.finished)})
        elif _is_alike(completed):
            self._count(completed)
        else:
            for batch in _groups(completed):
                self._count(batch)

    def _count(self, batch: CompletedColumns) -> None:
        """`batch`: of one lane, all started in one minute, and all finished in one."""
        lane = batch.lanes[0]
        begin = self._minutes[lane, batch.started[0] // MINUTE]
        begin.started += len(batch.started)
        begin.delays.update(map(rshift, _first_delays(batch), repeat(UNIT_BITS)))
        end = self._minutes[lane, batch.finished[0] // MINUTE]
        end.completed += len(batch.finished)
        end.runs.update(map(rshift, batch.run_times, repeat(UNIT_BITS)))

    async def write(self) -> bool:
        """Append what was counted. Also tells the other nodes that this one is alive."""
        if self._writer is None:
            self._writer = await self._store.add_writer()
        if self._unwritten is None:
            self._unwritten = self._take()
        try:
            await self._store.write(self._writer, self._unwritten)
        except UnknownWriter:
            # The other nodes took this one for dead, and may have counted its minutes again.
            self._writer, self._unwritten = None, _all_uncertain(self._unwritten)
            return True
        self._unwritten = None
        self._writer = self._writer.after_write()
        return False

    async def close(self) -> None:
        """Write the rest. From now on this node is not missed."""
        while await self.write():
            pass
        if self._writer:
            await self._store.remove_writer(self._writer)

    def _take(self) -> StatisticsWrite:
        counted = [_counts(lane, minute, counts) for (lane, minute), counts in self._minutes.items()]
        uncertain = [from_micros(minute * MINUTE) for minute in self._uncertain]
        self._minutes.clear()
        self._uncertain.clear()
        return StatisticsWrite(counted, uncertain)


def _is_alike(completed: CompletedColumns) -> bool:
    """Whether these are of one lane, none can be overdue, and all started and finished in the same minute."""
    lanes = completed.lanes
    return (
        lanes.count(lanes[0]) == len(lanes)
        and completed.longest <= ORDINARY_MICROS
        and min(completed.started) // MINUTE == completed.last_finished // MINUTE
    )


def _groups(completed: CompletedColumns) -> Iterator[CompletedColumns]:
    """Those that are not overdue, by lane and minutes."""
    groups: defaultdict[tuple[int, int, int], list[Reported]] = defaultdict(list)
    for each in zip(completed.workers, completed.outcomes, completed.lanes, strict=True):
        _, outcome, lane = each
        if outcome.finished - outcome.at <= ORDINARY_MICROS:
            groups[lane, outcome.started // MINUTE, outcome.finished // MINUTE].append(each)
    return map(CompletedColumns.of, groups.values())


def _first_delays(batch: CompletedColumns) -> Sequence[int]:
    """The start delays of first attempts."""
    if batch.attempts.count(1) == len(batch.attempts):
        return batch.start_delays
    return [delay for delay, attempt in zip(batch.start_delays, batch.attempts, strict=True) if attempt == 1]


def _counts(lane: int, minute: int, counts: _Minute) -> MinuteCounts:
    return MinuteCounts(
        from_micros(minute * MINUTE),
        lane,
        counts.fired,
        counts.started,
        counts.completed,
        in_buckets(counts.delays),
        in_buckets(counts.runs),
    )


def _all_uncertain(write: StatisticsWrite) -> StatisticsWrite:
    return StatisticsWrite([], [*write.uncertain, *(each.at for each in write.counted)])
