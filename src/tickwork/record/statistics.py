"""Statistics for users: series of what happened, in steps."""

from bisect import bisect_right
from collections import defaultdict
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import groupby

from tickwork.model.errors import Invalid
from tickwork.model.field_types import to_utc
from tickwork.model.job import HTTP_TASK
from tickwork.model.statistics import (
    STEPS,
    Counted,
    Counts,
    GroupBy,
    Histogram,
    SeriesFilter,
    StatisticsSeries,
    Step,
    add_up,
    point_of,
    quantile,
    sum_of,
)
from tickwork.store.port.record import StatisticsStore

_DEFAULT_RANGE = timedelta(hours=1)
_MIDNIGHT = datetime(2000, 1, 1, tzinfo=UTC)  # from which steps are counted
_MOST_STEPS = 3000  # in a series
_MOST_ITEMS = 10_000  # of all its tasks or queues
_MOST_EXECUTIONS = 5000  # of one job


class Statistics:
    def __init__(self, store: StatisticsStore) -> None:
        self._store = store

    async def series(
        self,
        tenant_id: int,
        begin: datetime | None,
        end: datetime | None,
        step: Step,
        by: GroupBy | None = None,
        task: str | None = None,
        queue: str | None = None,
        job: int | None = None,
        zone: tzinfo = UTC,
    ) -> StatisticsSeries:
        """The steps from `begin` to `end`, by default those of the last hour. With `job`, from its own executions by
        the time at which they were due. Steps of a day are days of the zone."""
        end = to_utc(end or await self._store.now())
        begin = to_utc(begin) if begin else max(end, _MIDNIGHT) - _DEFAULT_RANGE
        wanted = _filter(begin, end, STEPS[step], by, task, queue)
        if zone is not UTC and step == "1d":
            days = _days(begin, end, zone)
            wanted = wanted._replace(begin=days[0], starts=days)
        if job is not None:
            counted = await self._of_job(tenant_id, job, wanted)
        else:
            counted = await self._store.series(tenant_id, wanted, _MOST_ITEMS + 1)
        if len(counted) > _MOST_ITEMS:
            raise Invalid.field(
                "step", f"gives more than {_MOST_ITEMS:,} items", "a longer step, a shorter range, or a task"
            )
        return StatisticsSeries([point_of(each, wanted.step) for each in counted])

    async def now(self) -> datetime:
        return await self._store.now()

    async def total(self, tenant_id: int, begin: datetime, end: datetime) -> Counts:
        """The sum of a range, to the hour where it is merged and to the minute after that."""
        hour = STEPS["1h"]
        counted = await self._store.series(
            tenant_id, SeriesFilter(_floor(begin, hour), end, hour), _MOST_STEPS
        )
        return sum_of([each.counts for each in counted]) if counted else Counts()

    async def usual_run_times(self, tenant_id: int, begin: datetime, end: datetime) -> dict[str, float]:
        """The seconds that half of the attempts of each task took at most."""
        day = STEPS["1d"]
        wanted = SeriesFilter(_floor(begin, STEPS["1h"]), end, day, by="task")
        histograms: dict[str, list[Histogram]] = defaultdict(list)
        for each in await self._store.series(tenant_id, wanted, _MOST_ITEMS):
            histograms[each.task or ""].append(each.counts.run_times)
        medians = {task: quantile(add_up(each), 0.5) for task, each in histograms.items()}
        return {task: median for task, median in medians.items() if median is not None}

    async def run_times_in_slots(
        self, tenant_id: int, begin: datetime, end: datetime, step: Step
    ) -> list[tuple[datetime, Histogram]]:
        """How long the attempts took that ended in each step on a worker's slot. HTTP calls take none."""
        length = STEPS[step]
        wanted = SeriesFilter(_floor(begin, length), end, length)
        of_all = await self._store.series(tenant_id, wanted, _MOST_STEPS)
        of_http = await self._store.series(tenant_id, wanted._replace(task=HTTP_TASK), _MOST_STEPS)
        without = {each.at: each.counts.run_times for each in of_http}
        return [(each.at, _difference(each.counts.run_times, without.get(each.at, {}))) for each in of_all]

    async def _of_job(self, tenant_id: int, job: int, wanted: SeriesFilter) -> list[Counted]:
        if wanted.by is not None:
            raise Invalid.field("by", "cannot be used with job: a job has one task and one queue")
        found = await self._store.executions_of_job(tenant_id, job, wanted, _MOST_EXECUTIONS + 1)
        if len(found) > _MOST_EXECUTIONS:
            raise Invalid.field(
                "from",
                f"the job has more than {_MOST_EXECUTIONS:,} executions in this range",
                "a shorter range, or its task instead",
            )
        in_steps = [each._replace(at=_start_of_step(each.at, wanted)) for each in reversed(found)]
        return [
            Counted(at, None, None, sum_of([each.counts for each in group]))
            for at, group in groupby(in_steps, lambda each: each.at)
        ]


def _filter(
    begin: datetime, end: datetime, step: timedelta, by: GroupBy | None, task: str | None, queue: str | None
) -> SeriesFilter:
    if begin >= end:
        raise Invalid.field("from", "is not before until")
    if (end - begin) / step > _MOST_STEPS:
        raise Invalid.field(
            "step",
            f"gives more than {_MOST_STEPS:,} steps in this range",
            "a longer step, or a shorter range",
        )
    return SeriesFilter(_floor(begin, step), end, step, by, task, queue)


def _difference(all_of_them: Histogram, without: Histogram) -> Histogram:
    return {bucket: number - without.get(bucket, 0) for bucket, number in all_of_them.items()}


def _days(begin: datetime, end: datetime, zone: tzinfo) -> list[datetime]:
    """When the days of a range begin in a zone."""
    midnight = begin.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    try:
        number = (end - midnight.astimezone(UTC)).days + 2
        days = [(midnight + timedelta(days=day)).astimezone(UTC) for day in range(number)]
    except OverflowError:
        raise Invalid.field("timezone", "leads beyond the calendar in this range") from None
    return [day for day in days if day < end]


def _start_of_step(at: datetime, wanted: SeriesFilter) -> datetime:
    if wanted.starts is None:
        return _floor(at, wanted.step)
    return wanted.starts[max(bisect_right(wanted.starts, at) - 1, 0)]


def _floor(at: datetime, step: timedelta) -> datetime:
    return at - (at - _MIDNIGHT) % step
