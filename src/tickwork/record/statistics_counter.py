"""Counts what is ordinary in the memory of a node, and appends it to the statistics every few seconds.

Counting costs a fraction of a microsecond for each execution: a batch is counted as a whole, and durations are put into
buckets only when they are written. What a killed node has not written is counted again from the executions.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tickwork.model.histogram import UNIT_BITS, in_buckets
from tickwork.model.ids import from_micros
from tickwork.model.statistics import MINUTE, ORDINARY
from tickwork.model.worker_protocol import Outcome
from tickwork.store.port.record import (
    MinuteCounts,
    Reported,
    StatisticsStore,
    StatisticsWrite,
    UnknownWriter,
    Writer,
)

_ORDINARY = int(ORDINARY.total_seconds() * 1e6)  # microseconds


class _Minute:
    """What happened in a lane in a minute. Durations are counted by their length in units of the histogram."""

    __slots__ = ("completed", "delays", "runs", "started")

    def __init__(self) -> None:
        self.started = 0
        self.completed = 0
        self.delays: Counter[int] = Counter()
        self.runs: Counter[int] = Counter()


class StatisticsCounter:
    def __init__(self, store: StatisticsStore) -> None:
        self._store = store
        self._minutes: defaultdict[tuple[int, int], _Minute] = defaultdict(
            _Minute
        )  # by lane and number of minute
        self._uncertain: set[int] = set()  # minutes to be counted again
        self._writer: Writer | None = None
        self._unwritten: StatisticsWrite | None = None  # a write that may have to be repeated

    def count_completed(self, completed: Sequence[Reported], recorded: int) -> None:
        """Count executions that completed, of which so many were recorded. Those that are overdue were counted by the
        store."""
        ordinary = [each for each in completed if each[1].finished - each[1].at <= _ORDINARY]
        if recorded < len(
            completed
        ):  # which ones is not known: some were repeated, or are not the worker's any more
            self._uncertain.update(_minutes_of(ordinary))
            return
        for (lane, started, finished), outcomes in _groups(ordinary):
            begin, end = self._minutes[lane, started], self._minutes[lane, finished]
            begin.started += len(outcomes)
            begin.delays.update(
                [(each.started - each.at) >> UNIT_BITS for each in outcomes if each.attempt == 1]
            )
            end.completed += len(outcomes)
            end.runs.update([(each.finished - each.started) >> UNIT_BITS for each in outcomes])

    async def write(self) -> bool:
        """Append what was counted. Also tells the other nodes that this one is alive."""
        if self._writer is None:
            self._writer = await self._store.add_writer()
        if self._unwritten is None:
            self._unwritten = self._take()
        try:
            await self._store.write(self._writer, self._unwritten)
        except (
            UnknownWriter
        ):  # the other nodes took this one for dead, and may have counted its minutes again
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


def _groups(reported: Sequence[Reported]) -> Iterator[tuple[tuple[int, int, int], Sequence[Outcome]]]:
    """By lane and by the minutes of start and end. Most batches are one group, and are not taken apart."""
    if not reported:
        return
    outcomes = [each[1] for each in reported]
    started = [each.started for each in outcomes]
    finished = [each.finished for each in outcomes]
    lanes = {each[2] for each in reported}
    first, last = min(started) // MINUTE, max(finished) // MINUTE
    if len(lanes) == 1 and first == max(started) // MINUTE and min(finished) // MINUTE == last:
        yield (lanes.pop(), first, last), outcomes
        return
    groups: defaultdict[tuple[int, int, int], list[Outcome]] = defaultdict(list)
    for _, outcome, lane in reported:
        groups[lane, outcome.started // MINUTE, outcome.finished // MINUTE].append(outcome)
    yield from groups.items()


def _minutes_of(reported: Sequence[Reported]) -> set[int]:
    return {micros // MINUTE for _, outcome, _ in reported for micros in (outcome.started, outcome.finished)}


def _counts(lane: int, minute: int, counts: _Minute) -> MinuteCounts:
    return MinuteCounts(
        from_micros(minute * MINUTE),
        lane,
        counts.started,
        counts.completed,
        in_buckets(counts.delays),
        in_buckets(counts.runs),
    )


def _all_uncertain(write: StatisticsWrite) -> StatisticsWrite:
    return StatisticsWrite([], [*write.uncertain, *(each.at for each in write.counted)])
