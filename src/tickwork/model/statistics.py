"""Statistics: what happened in each step of time, and how long it took.

Durations are kept as histograms that can be added up. A duration is counted in units of 128 µs. Below 16 units each
unit is a bucket; from there on, each power of two is divided into eight. So a bucket is at most an eighth as wide as
the durations in it are long, or one unit. The SQL function tickwork.histogram_bucket computes the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from tickwork.model.field_types import Instant

UNIT_BITS = 7  # a unit is 2**7 µs
_LINEAR = 16  # buckets of one unit each
_PARTS = 8  # buckets of each power of two
Step = Literal["1m", "5m", "1h", "1d"]
STEPS: Mapping[Step, timedelta] = {
    "1m": timedelta(minutes=1),
    "5m": timedelta(minutes=5),
    "1h": timedelta(hours=1),
    "1d": timedelta(days=1),
}
MINUTE = 60_000_000  # microseconds
# What completes within this time after its due time is ordinary: nodes count it in memory.
ORDINARY = timedelta(minutes=2)
ORDINARY_MICROS = 2 * MINUTE
# How long statistics are kept by minute; and how old what is added to them may be.
MINUTES_KEPT = timedelta(days=7)
OLDEST_ADDED = timedelta(days=6)
HOURS_KEPT = timedelta(days=400)
DAYS_KEPT = timedelta(days=3660)


Key = TypeVar("Key")
Histogram = Mapping[int, int]  # how many are in each bucket


def bucket_of(units: int) -> int:
    if units < _LINEAR:
        return max(units, 0)
    power = units.bit_length() - 1
    return _PARTS * (power - 3) + (units >> (power - 3))


def bounds(bucket: int) -> tuple[int, int]:
    """The microseconds from which and up to which durations are in the bucket."""
    if bucket < _LINEAR:
        return bucket << UNIT_BITS, (bucket + 1) << UNIT_BITS
    power, part = divmod(bucket, _PARTS)
    shift = power - 1 + UNIT_BITS
    return (_PARTS + part) << shift, (_PARTS + part + 1) << shift


def in_buckets(units: Mapping[int, int]) -> dict[int, int]:
    """A histogram from how often each number of units occurred."""
    return add_up({bucket_of(value): count} for value, count in units.items())


def add_up(counts: Iterable[Mapping[Key, int]]) -> dict[Key, int]:
    total: Counter[Key] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def quantile(histogram: Histogram, share: float) -> float | None:
    """The duration in seconds that this share of them does not exceed, or None if there are none."""
    buckets = sorted(histogram)
    sums = list(accumulate(histogram[bucket] for bucket in buckets))
    if not sums or not sums[-1]:
        return None
    rank = share * sums[-1]
    for bucket, sum_ in zip(buckets, sums, strict=True):
        if sum_ >= rank and histogram[bucket]:
            first, last = bounds(bucket)
            within = (rank - (sum_ - histogram[bucket])) / histogram[bucket]
            return (first + (last - first) * within) / 1e6
    return bounds(buckets[-1])[1] / 1e6


def middle_of(bucket: int) -> float:
    """About how long the durations in a bucket are, in seconds."""
    return sum(bounds(bucket)) / 2e6


GroupBy = Literal["task", "queue"]


class Percentiles(msgspec.Struct, frozen=True):
    """In seconds."""

    p50: float
    p95: float
    p99: float


class Rates(msgspec.Struct, frozen=True):
    """Executions per second."""

    fired: float
    started: float
    completed: float
    failed: float


class StatisticsPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in one step, which begins `at`."""

    at: Instant
    task: str | None = None  # if wanted by task
    queue: str | None = None  # if wanted by queue
    fired: int  # executions that became due, other than by a backfill; complete two minutes later
    started: int  # attempts that started and have ended since
    completed: int
    failed: int  # executions that failed for good
    retried: int  # attempts that failed and were followed by another
    snoozed: int
    skipped: int
    skipped_by_reason: dict[str, int]
    missed: int  # due times
    lost: int  # attempts whose worker was lost and that were followed by another
    cancelled: int
    rates: Rates
    start_delay: Percentiles | None  # from the due time to the start of the first attempt
    run_time: Percentiles | None  # of attempts that completed


class StatisticsSeries(msgspec.Struct, frozen=True):
    """The steps in which something happened, in order."""

    items: list[StatisticsPoint]
    complete_since: Instant | None = None  # of a job or tag: there is too much before; null: all is counted


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many executions or attempts, by what happened to them."""

    fired: int = 0
    started: int = 0
    completed: int = 0
    failed: int = 0
    retried: int = 0
    snoozed: int = 0
    lost: int = 0
    cancelled: int = 0
    missed: int = 0
    skipped_by_reason: Mapping[str, int] = {}
    start_delays: Histogram = {}
    run_times: Histogram = {}


class Counted(NamedTuple):
    """Counts of one step, of a task or a queue if they were wanted by these."""

    at: datetime
    task: str | None
    queue: str | None
    counts: Counts


class SeriesFilter(NamedTuple):
    begin: datetime
    end: datetime
    step: timedelta
    by: GroupBy | None = None
    task: str | None = None
    queue: str | None = None
    starts: Sequence[datetime] | None = None  # of the steps, where they do not begin at round times in UTC
    minutes_from: datetime | None = None  # from then on it takes minutes: the steps begin within hours


def point_of(counted: Counted, step: timedelta) -> StatisticsPoint:
    counts, seconds = counted.counts, step.total_seconds()
    reasons = {reason: number for reason, number in counts.skipped_by_reason.items() if number}
    return StatisticsPoint(
        at=counted.at,
        task=counted.task,
        queue=counted.queue,
        fired=counts.fired,
        started=counts.started,
        completed=counts.completed,
        failed=counts.failed,
        retried=counts.retried,
        snoozed=counts.snoozed,
        skipped=sum(reasons.values()),
        skipped_by_reason=reasons,
        missed=counts.missed,
        lost=counts.lost,
        cancelled=counts.cancelled,
        rates=Rates(
            counts.fired / seconds,
            counts.started / seconds,
            counts.completed / seconds,
            counts.failed / seconds,
        ),
        start_delay=percentiles(counts.start_delays),
        run_time=percentiles(counts.run_times),
    )


def sum_of(all_counts: Sequence[Counts]) -> Counts:
    def total(field: str) -> Any:
        values = [getattr(counts, field) for counts in all_counts]
        return sum(values) if isinstance(values[0], int) else add_up(values)

    return Counts(**{field: total(field) for field in Counts.__struct_fields__})


def percentiles(histogram: Histogram) -> Percentiles | None:
    p50, p95, p99 = (quantile(histogram, share) for share in (0.50, 0.95, 0.99))
    if p50 is None or p95 is None or p99 is None:
        return None
    return Percentiles(p50, p95, p99)
