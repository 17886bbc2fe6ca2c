"""How much is coming: the due times of all jobs in a range, counted in steps.

A rule's due times are computed once and multiplied by the number of its jobs. Beyond some numbers both are estimated:
the jobs of a large rule by the database's statistics, the due times of a frequent rule by their rate, and very many
rules by those with most jobs and a share of the others.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import accumulate, count, islice
from typing import NamedTuple

from tickwork.model.errors import Invalid
from tickwork.model.job_filter import JobFilter
from tickwork.model.statistics import GroupBy
from tickwork.model.upcoming import ALL_DUE, DueFilter, DueTimeCount, DueTimeCounts
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.read_jobs_executions_workers import JobSearch
from tickwork.store.port.trigger import JobsInSpan, TimedJob, UpcomingRule, UpcomingStore
from tickwork.trigger.find_next_due_schedules import due_times

MOST_COUNTED = 5000  # rules; of more, a share is counted
SHARE_COUNTED = 1000  # rules, about
MOST_TAGGED = 2000  # jobs with a tag that are looked at one by one; of more, some of each rule
_MOST_JOBS = 1000  # of a rule that are counted, if there are few rules
_MOST_JOBS_OF_ALL = 100_000  # divided among the rules
_LEAST_JOBS = 100  # of each rule
_MOST_ONE_TIME = 100_000
_MOST_TIMES = 400_000  # due times that are computed, divided among the rules
_LEAST_TIMES = 100  # of each rule
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_MOST_ITEMS = 10_000  # of all tasks or queues


class _Steps(NamedTuple):
    """A range in steps. The first and the last are cut off where the range ends."""

    starts: Sequence[datetime]
    begin: datetime
    end: datetime

    @property
    def total(self) -> int:
        return len(self.starts)

    def number_of(self, at: datetime) -> int:
        return bisect_right(self.starts, at) - 1

    def bounds(self, number: int) -> tuple[datetime, datetime]:
        is_last = number == self.total - 1
        return max(self.starts[number], self.begin), self.end if is_last else self.starts[number + 1]


class _RuleCount(NamedTuple):
    counts: list[float]
    is_estimate: bool


_Groups = dict[str | None, list[float]]  # the counts of each step, by task or queue if wanted


class _Counted(NamedTuple):
    steps: _Steps
    groups: _Groups
    is_estimate: bool
    searched_until: datetime | None  # up to when one-time jobs were counted, if they are too many


class UpcomingCounts:
    def __init__(self, store: UpcomingStore, jobs: JobSearch) -> None:
        self._store = store
        self._jobs = jobs

    async def count(
        self,
        tenant_id: int,
        begin: datetime,
        end: datetime,
        step: timedelta,
        by: GroupBy | None = None,
        zone: tzinfo = UTC,
        wanted: DueFilter = ALL_DUE,
    ) -> DueTimeCounts:
        """Due times from `begin`, or from now on, and before `end`. Steps of a day are days of the zone."""
        counted = await self._count(tenant_id, begin, end, step, by, zone, wanted)
        items = _items(counted.groups, counted.steps, by)
        return DueTimeCounts(items, counted.is_estimate, counted.searched_until)

    async def count_tasks(
        self, tenant_id: int, begin: datetime, end: datetime, step: timedelta
    ) -> dict[str, list[tuple[datetime, float]]]:
        """The same for each task, however many there are: the steps in which it is due, and how often."""
        counted = await self._count(tenant_id, begin, end, step, "task", UTC, ALL_DUE)
        return {
            task: [(at, count) for at, count in zip(counted.steps.starts, counts, strict=True) if count]
            for task, counts in counted.groups.items()
            if task is not None
        }

    async def _count(
        self,
        tenant_id: int,
        begin: datetime,
        end: datetime,
        step: timedelta,
        by: GroupBy | None,
        zone: tzinfo,
        wanted: DueFilter,
    ) -> _Counted:
        begin = max(begin, await self._store.now())
        end = max(end, begin)
        steps = _Steps(step_starts(begin, end, step, zone), begin, end)
        chosen = await self._chosen(tenant_id, wanted)
        if chosen is not None:
            return await asyncio.to_thread(_count_chosen, chosen, steps, by)
        rules, scale = await self._rules(tenant_id, end)
        jobs, has_large = await self._jobs_of(rules, begin, by, wanted)
        groups, is_estimate = await asyncio.to_thread(_count_rules, rules, jobs, steps, scale)
        searched_until = await self._add_one_time(tenant_id, steps, by, wanted, groups)
        return _Counted(steps, groups, has_large or is_estimate or bool(scale), searched_until)

    async def _rules(self, tenant_id: int, end: datetime) -> tuple[list[UpcomingRule], dict[int, float]]:
        """The rules that are counted, and for how many each of them stands, if not for itself only."""
        total = await self._store.count_rules_due_before(tenant_id, end)
        if total <= MOST_COUNTED:
            return await self._store.rules_due_before(tenant_id, end, 1, MOST_COUNTED, []), {}
        # A rule that has most of the jobs must not be left out, nor stand for others.
        common = (await self._store.rules_with_most_jobs(tenant_id, end))[:SHARE_COUNTED]
        one_in = max((total - len(common)) // SHARE_COUNTED, 1)
        others = await self._store.rules_due_before(
            tenant_id, end, one_in, MOST_COUNTED, [rule.id for rule in common]
        )
        scale = (total - len(common)) / max(len(others), 1)
        return [*common, *others], {rule.id: scale for rule in others}

    async def _chosen(self, tenant_id: int, wanted: DueFilter) -> list[TimedJob] | None:
        """The jobs that a filter names, or that have its tag. None: too many, or all."""
        if wanted.job is not None:
            jobs = [wanted.job]
        elif wanted.tag is not None:
            jobs = await self._jobs.ids(tenant_id, JobFilter(tag=(wanted.tag,)), MOST_TAGGED + 1)
        else:
            return None
        if len(jobs) > MOST_TAGGED:
            return None
        timed = (await self._store.timings(tenant_id, jobs)).values()
        tagged = await self._store.with_tag(jobs, wanted.tag) if wanted.tag is not None else set(jobs)
        return [each for each in timed if each.id in tagged and fits(each, wanted)]

    async def _jobs_of(
        self, rules: Sequence[UpcomingRule], begin: datetime, by: GroupBy | None, wanted: DueFilter
    ) -> tuple[dict[int, list[JobsInSpan]], bool]:
        """The jobs of each rule, and whether some of their numbers are estimates."""
        jobs: dict[int, list[JobsInSpan]] = defaultdict(list)
        most = min(max(_MOST_JOBS_OF_ALL // max(len(rules), 1), _LEAST_JOBS), _MOST_JOBS)
        numbers = [rule.id for rule in rules]
        for span in await self._store.jobs_of_rules(numbers, begin, most + 1, by, wanted):
            jobs[span.rule_id].append(span)
        large = [rule for rule, spans in jobs.items() if sum(span.jobs for span in spans) > most]
        estimated = await self._store.estimated_jobs_of_rules(large) if large else {}
        for rule in large:
            jobs[rule] = _in_proportion(jobs[rule], max(estimated.get(rule, 0), most + 1))
        fitting = {rule: [span for span in spans if span.is_wanted] for rule, spans in jobs.items()}
        return fitting, bool(large)

    async def _add_one_time(
        self, tenant_id: int, steps: _Steps, by: GroupBy | None, wanted: DueFilter, groups: _Groups
    ) -> datetime | None:
        """Add the one-time jobs in each step. Returns up to when they were counted if they are too many."""
        counted_until = None
        found = await self._store.count_one_time(
            tenant_id, steps.begin, steps.end, steps.starts, _MOST_ONE_TIME, by, wanted
        )
        for due in found:
            if not due.is_wanted:
                continue
            groups.setdefault(due.group, [0.0] * steps.total)[due.step] += due.jobs
        for is_deferred in (False, True):
            same = [due for due in found if due.is_deferred is is_deferred]
            if sum(due.jobs for due in same) == _MOST_ONE_TIME:
                last = max(due.last_at for due in same)
                counted_until = last if counted_until is None else min(counted_until, last)
        return counted_until


def step_starts(begin: datetime, end: datetime, step: timedelta, zone: tzinfo) -> list[datetime]:
    """When the steps of a range begin. In UTC at round times; in another zone from its midnight on, and steps of a day
    at every midnight, however long the day is."""
    if zone is UTC:
        first = _EPOCH + (begin - _EPOCH) // step * step
    else:
        midnight = begin.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        if step % _DAY == timedelta(0):
            return [*_midnights(midnight, end, step.days)] or [begin]
        first = midnight.astimezone(UTC)
        first += (begin - first) // step * step
    return [first + number * step for number in range(-((first - end) // step))]


def _midnights(first: datetime, end: datetime, days: int) -> Iterator[datetime]:
    """Every so many days from the first on, and before the end. The calendar ends with the year 9999."""
    with suppress(OverflowError):
        for number in count(0, days):
            at = (first + number * _DAY).astimezone(UTC)
            if at >= end:
                return
            yield at


def _in_proportion(spans: Sequence[JobsInSpan], total: int) -> list[JobsInSpan]:
    """The jobs of a large rule, of which some were counted: each group has its share of the estimated total."""
    counted = sum(span.jobs for span in spans)
    groups: dict[str | None, int] = defaultdict(int)
    for span in spans:
        groups[span.group] += span.jobs * span.is_wanted
    return [
        JobsInSpan(spans[0].rule_id, None, None, round(total * jobs / counted), group)
        for group, jobs in groups.items()
        if jobs
    ]


def fits(job: TimedJob, wanted: DueFilter) -> bool:
    """Whether a job has the task and the queue that are wanted."""
    return wanted.task in (None, job.task) and wanted.queue in (None, job.queue)


def _count_chosen(chosen: Sequence[TimedJob], steps: _Steps, by: GroupBy | None) -> _Counted:
    """Of jobs that are known one by one."""
    rules: dict[int, UpcomingRule] = {}
    jobs: dict[int, list[JobsInSpan]] = defaultdict(list)
    once: list[TimedJob] = []
    for job in chosen:
        if not job.is_active:
            continue
        if job.rule is None:
            once.append(job)
            continue
        rules[job.rule.id] = job.rule
        begins = job.active_from if job.active_from > steps.begin else None
        jobs[job.rule.id].append(JobsInSpan(job.rule.id, begins, job.active_until, 1, _group(job, by)))
    groups, is_estimate = _count_rules([*rules.values()], jobs, steps, {})
    for job in once:
        if job.once_at and steps.begin <= job.once_at < steps.end:
            counts = groups.setdefault(_group(job, by), [0.0] * steps.total)
            counts[steps.number_of(job.once_at)] += 1
    return _Counted(steps, groups, is_estimate, None)


def _group(job: TimedJob, by: GroupBy | None) -> str | None:
    return job.task if by == "task" else job.queue if by == "queue" else None


def _items(groups: _Groups, steps: _Steps, by: GroupBy | None) -> list[DueTimeCount]:
    if by is None:
        counts = groups.get(None, [0.0] * steps.total)
        return [DueTimeCount(at, round(count)) for at, count in zip(steps.starts, counts, strict=True)]
    names = sorted(name for name in groups if name is not None)
    items = [
        DueTimeCount(at, round(groups[name][number]), **{by: name})
        for number, at in enumerate(steps.starts)
        for name in names
        if groups[name][number]
    ]
    if len(items) > _MOST_ITEMS:
        raise Invalid.field(
            "step", f"gives more than {_MOST_ITEMS:,} items", "a longer step or a shorter range"
        )
    return items


def _count_rules(
    rules: Sequence[UpcomingRule],
    jobs: Mapping[int, Sequence[JobsInSpan]],
    steps: _Steps,
    scale: Mapping[int, float],
) -> tuple[_Groups, bool]:
    groups: _Groups = {}
    is_estimate = False
    most = max(_MOST_TIMES // max(len(rules), 1), _LEAST_TIMES)
    for rule in rules:
        times: list[datetime] | None = None
        for name, spans in _by_group(jobs.get(rule.id, ())).items():
            if times is None:
                times = list(islice(due_times(rule, steps.begin, steps.end), most + 1))
            found = _count_rule(rule, times, spans, steps, most)
            so_far = groups.get(name, [0.0] * steps.total)
            times_each = scale.get(rule.id, 1.0)
            groups[name] = [
                total + count * times_each for total, count in zip(so_far, found.counts, strict=True)
            ]
            is_estimate |= found.is_estimate
    return groups, is_estimate


def _by_group(spans: Sequence[JobsInSpan]) -> dict[str | None, list[JobsInSpan]]:
    groups: dict[str | None, list[JobsInSpan]] = defaultdict(list)
    for span in spans:
        groups[span.group].append(span)
    return groups


def _count_rule(
    rule: UpcomingRule, times: list[datetime], jobs: Sequence[JobsInSpan], steps: _Steps, most: int
) -> _RuleCount:
    if len(times) <= most:
        return _RuleCount(_count_each(times, jobs, steps), False)
    total = sum(span.jobs for span in jobs)
    is_limited = any(span.begins or span.ends for span in jobs)
    interval = timing_from_text(rule.timing).interval
    if interval is not None:
        return _RuleCount([total * n for n in _count_interval(times[0], interval, steps)], is_limited)
    rate = most / (times[most] - times[0]).total_seconds()
    lengths = [
        (high - max(low, times[0])).total_seconds() for low, high in map(steps.bounds, range(steps.total))
    ]
    return _RuleCount([total * rate * max(length, 0.0) for length in lengths], True)


def _count_each(times: Sequence[datetime], jobs: Sequence[JobsInSpan], steps: _Steps) -> list[float]:
    """Each due time counts for the jobs that are active then."""
    changes = [0] * (len(times) + 1)
    for span in jobs:
        changes[0 if span.begins is None else bisect_left(times, span.begins)] += span.jobs
        if span.ends is not None:
            changes[bisect_right(times, span.ends)] -= span.jobs
    counts = [0.0] * steps.total
    for at, active in zip(times, accumulate(changes), strict=False):
        counts[steps.number_of(at)] += active
    return counts


def _count_interval(first: datetime, interval: timedelta, steps: _Steps) -> list[int]:
    def due_before(at: datetime) -> int:
        return max(-((first - at) // interval), 0)

    return [due_before(high) - due_before(low) for low, high in map(steps.bounds, range(steps.total))]
