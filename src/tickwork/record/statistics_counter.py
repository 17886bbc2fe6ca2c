"""Counts what is ordinary in the memory of a node, and appends it to the statistics every few seconds.

Counting costs a fraction of a microsecond for each execution: a batch is counted as a whole, and durations are put into
buckets only when they are written. What a killed node has not written is counted again from the executions.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from operator import sub

from tickwork.model.duration_histogram import UNIT_BITS, in_buckets
from tickwork.model.ids import from_micros
from tickwork.model.statistics import MINUTE, ORDINARY_MICROS
from tickwork.model.worker_protocol import Outcome
from tickwork.store.port.record import (
    MinuteCounts,
    Reported,
    StatisticsStore,
    StatisticsWrite,
    UnknownWriter,
    Writer,
)


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
        # By lane and number of the minute.
        self._minutes: defaultdict[tuple[int, int], _Minute] = defaultdict(_Minute)
        self._uncertain: set[int] = set()  # minutes to be counted again
        self._writer: Writer | None = None
        self._unwritten: StatisticsWrite | None = None  # a write that may have to be repeated

    def count_completed(self, completed: Sequence[Reported], recorded: int) -> None:
        """Count executions that completed, of which so many were recorded. Those that are overdue were counted by the
        store."""
        if recorded < len(
            completed
        ):  # some were repeated, or are not the worker's any more: which, is not known
            self._uncertain.update(_minutes_of(completed))
        else:
            for lane, batch in _batches(completed):
                self._count(lane, batch)

    def _count(self, lane: int, batch: "_Batch") -> None:
        begin = self._minutes[lane, batch.started[0] // MINUTE]
        begin.started += len(batch.started)
        begin.delays.update(batch.start_delays())
        end = self._minutes[lane, batch.finished[0] // MINUTE]
        end.completed += len(batch.finished)
        end.runs.update(batch.run_times())

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


class _Batch:
    """The times of executions of one lane, as columns."""

    __slots__ = ("attempts", "due", "finished", "started")

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.due = [outcome.at for outcome in outcomes]
        self.started = [outcome.started for outcome in outcomes]
        self.finished = [outcome.finished for outcome in outcomes]
        self.attempts = [outcome.attempt for outcome in outcomes]

    def is_ordinary(self) -> bool:
        """Whether none can be overdue, and all started and finished in the same minute."""
        last = max(self.finished)
        return last - min(self.due) <= ORDINARY_MICROS and min(self.started) // MINUTE == last // MINUTE

    def start_delays(self) -> list[int]:
        """Of first attempts, in units of the histogram."""
        delays = [micros >> UNIT_BITS for micros in map(sub, self.started, self.due)]
        if self.attempts.count(1) == len(delays):
            return delays
        return [delay for delay, attempt in zip(delays, self.attempts, strict=True) if attempt == 1]

    def run_times(self) -> list[int]:
        return [micros >> UNIT_BITS for micros in map(sub, self.finished, self.started)]


def _batches(completed: Sequence[Reported]) -> Iterator[tuple[int, _Batch]]:
    """Those that are not overdue, by lane and minutes. Most often they are one batch, and are not taken apart."""
    lanes = {each[2] for each in completed}
    if len(lanes) == 1:
        batch = _Batch([each[1] for each in completed])
        if batch.is_ordinary():
            yield lanes.pop(), batch
            return
    groups: defaultdict[tuple[int, int, int], list[Outcome]] = defaultdict(list)
    for _, outcome, lane in completed:
        if outcome.finished - outcome.at <= ORDINARY_MICROS:
            groups[lane, outcome.started // MINUTE, outcome.finished // MINUTE].append(outcome)
    for (lane, _, _), outcomes in groups.items():
        yield lane, _Batch(outcomes)


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
