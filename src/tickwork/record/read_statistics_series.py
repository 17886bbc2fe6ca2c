"""Statistics for users: series of what happened, in steps."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from tickwork.model.errors import Invalid
from tickwork.model.field_types import to_utc
from tickwork.model.job import HTTP_TASK
from tickwork.model.job_filter import JobFilter
from tickwork.model.statistics import (
    MINUTES_KEPT,
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
from tickwork.store.port.read_jobs_executions_workers import JobSearch
from tickwork.store.port.statistics import StatisticsStore

_DEFAULT_RANGE = timedelta(hours=1)
_MIDNIGHT = datetime(2000, 1, 1, tzinfo=UTC)  # from which steps are counted
_MOST_STEPS = 3000  # in a series
_MOST_ITEMS = 10_000  # of all its tasks or queues
_MOST_EXECUTIONS = 60_000  # that are looked at, of a job or a tag
_MOST_TAGGED = 50  # jobs that are looked at one by one


class Statistics:
    def __init__(self, store: StatisticsStore, jobs: JobSearch) -> None:
        self._store = store
        self._jobs = jobs

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
        tag: str | None = None,
        zone: tzinfo = UTC,
    ) -> StatisticsSeries:
        """The steps from `begin` to `end`, by default those of the last hour. With `job` or `tag`, from the executions
        themselves, by the time at which they were due. Steps of an hour or a day are those of the zone."""
        now = await self._store.now()
        end = to_utc(end or now)
        begin = to_utc(begin) if begin else max(end, _MIDNIGHT) - _DEFAULT_RANGE
        wanted = _filter(begin, end, STEPS[step], by, task, queue)
        if zone is not UTC:
            wanted = _in_zone(wanted, begin, step, zone, now)
        if job is not None or tag is not None:
            return await self._of_executions(tenant_id, job, tag, wanted)
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

    async def _of_executions(
        self, tenant_id: int, job: int | None, tag: str | None, wanted: SeriesFilter
    ) -> StatisticsSeries:
        if wanted.by is not None:
            raise Invalid.field("by", "cannot be used with job or tag", "task or queue, as a filter")
        wanted = wanted._replace(starts=wanted.starts or _round_times(wanted))
        jobs = [job] if job is not None else await self._jobs_with(tenant_id, tag or "")
        if jobs is None:
            found = await self._store.executions_with_tag(tenant_id, tag or "", wanted, _MOST_EXECUTIONS)
        else:
            of_each = _MOST_EXECUTIONS // max(len(jobs), 1)
            found = await self._store.executions_of_jobs(tenant_id, jobs, wanted, of_each)
        steps: dict[datetime, list[Counts]] = defaultdict(list)
        for each in found.counted:
            steps[each.at].append(each.counts)
        counted = [Counted(at, None, None, sum_of(steps[at])) for at in sorted(steps)]
        return StatisticsSeries([point_of(each, wanted.step) for each in counted], found.complete_since)

    async def _jobs_with(self, tenant_id: int, tag: str) -> list[int] | None:
        """The jobs with a tag. None: too many to look at one by one."""
        jobs = await self._jobs.ids(tenant_id, JobFilter(tag=(tag,)), _MOST_TAGGED + 1)
        return jobs if len(jobs) <= _MOST_TAGGED else None


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


def _in_zone(wanted: SeriesFilter, begin: datetime, step: Step, zone: tzinfo, now: datetime) -> SeriesFilter:
    """With the steps of a zone: days, and hours where they do not begin at full hours in UTC. Such steps are exact as
    far as minutes are kept; before that, an hour is counted where it begins."""
    if step not in ("1h", "1d"):
        return wanted
    days = _days(begin, wanted.end, zone)
    within_hours = any((day - _MIDNIGHT) % STEPS["1h"] for day in days)
    minutes_from = _floor(now - MINUTES_KEPT + STEPS["1h"], STEPS["1h"]) if within_hours else None
    if step == "1d":
        return wanted._replace(begin=days[0], starts=days, minutes_from=minutes_from)
    if not within_hours:
        return wanted
    hours = [at for at in _hours(days, wanted.end) if at + STEPS["1h"] > begin]
    return wanted._replace(begin=hours[0], starts=hours, minutes_from=minutes_from)


def _hours(days: Sequence[datetime], end: datetime) -> Iterator[datetime]:
    """When the hours of days begin, counted from midnight. A day on which the clocks change may end within one."""
    for day, next_day in zip(days, [*days[1:], end], strict=True):
        at = day
        while at < next_day:
            yield at
            at += STEPS["1h"]


def _round_times(wanted: SeriesFilter) -> list[datetime]:
    """When steps begin that have all the same length."""
    return [
        wanted.begin + number * wanted.step for number in range(-((wanted.begin - wanted.end) // wanted.step))
    ]


def _floor(at: datetime, step: timedelta) -> datetime:
    return at - (at - _MIDNIGHT) % step
