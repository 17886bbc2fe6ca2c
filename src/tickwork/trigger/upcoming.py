"""What is coming: the due times of all jobs in a range, in order.

The due times of recurring jobs are computed from their rules. What is created already, for one-time jobs and for
rounds that were fired ahead, is read. A request computes a limited number of rounds; a page that is not full says up to
when it is complete. `count_upcoming.py` counts them.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from tickwork.model.errors import Invalid
from tickwork.model.field_types import to_utc
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.model.upcoming import ALL_DUE, DueFilter, DueTime, DueTimePage
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.trigger import NOT_BEGUN, DueJob, DuePlace, TimedJob, UpcomingRule, UpcomingStore

MOST_RULES = 1000  # of a page: the soonest
MOST_COMPUTED = 100_000  # rules that are not due in equal intervals
_ROUNDS_TOGETHER = 100
_MOST_ROUNDS = 2000  # of a page
_MOST_PAGES = 10  # that a page of what fits a filter is made of
_RANGE_DEFAULT = timedelta(days=1)
_LONGEST_RANGE = timedelta(days=366)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)
_LARGEST = 2**63 - 1
_LOWEST_PRIORITY = 2**15 - 1
_MICROSECOND = timedelta(microseconds=1)


class _Found(NamedTuple):
    """The next due times of one origin, in order."""

    jobs: Sequence[DueJob]
    complete_to: DuePlace | None  # None: there are no more


class Upcoming:
    def __init__(self, store: UpcomingStore) -> None:
        self._store = store

    async def range(self, begin: datetime | None, end: datetime | None) -> tuple[datetime, datetime]:
        """The range to look at, from now for a day unless it is given."""
        begin = await self._store.now() if begin is None else to_utc(begin)
        end = begin + min(_RANGE_DEFAULT, _LATEST - begin) if end is None else to_utc(end)
        if end <= begin:
            raise Invalid.field("until", "is not after the beginning of the range", "a later time")
        if end - begin > _LONGEST_RANGE:
            raise Invalid.field("until", "is too far away", f"at most {_LONGEST_RANGE.days} days later")
        return begin, end

    async def page(
        self,
        tenant_id: int,
        begin: datetime,
        end: datetime,
        limit: int,
        cursor: str | None,
        wanted: DueFilter = ALL_DUE,
    ) -> DueTimePage:
        """Due times from `begin`, or from now on, and before `end`."""
        if wanted.job is not None:
            return await self._page_of_job(tenant_id, begin, end, limit, cursor, wanted)
        if not wanted.needs_look:
            return await self._page(tenant_id, begin, end, limit, cursor)
        items: list[DueTime] = []
        for _ in range(_MOST_PAGES):
            page = await self._page(tenant_id, begin, end, limit - len(items), cursor)
            items += await self._fitting(page.items, wanted)
            cursor = page.next_cursor
            if cursor is None or len(items) == limit:
                return DueTimePage(items, cursor, page.searched_until)
        return DueTimePage(items, cursor, page.searched_until or page.items[-1].at)

    async def _fitting(self, due: Sequence[DueTime], wanted: DueFilter) -> list[DueTime]:
        fitting = [
            each for each in due if wanted.task in (None, each.task) and wanted.queue in (None, each.queue)
        ]
        if wanted.tag is None or not fitting:
            return fitting
        tagged = await self._store.with_tag([parse_job_id(each.job_id) for each in fitting], wanted.tag)
        return [each for each in fitting if parse_job_id(each.job_id) in tagged]

    async def _page_of_job(
        self,
        tenant_id: int,
        begin: datetime,
        end: datetime,
        limit: int,
        cursor: str | None,
        wanted: DueFilter,
    ) -> DueTimePage:
        """Of one job, from its rule."""
        found = await self.timings(tenant_id, [wanted.job or 0])
        begin = max(begin, await self._store.now())
        if cursor is not None:
            begin = max(begin, self._store.place(cursor).at + _MICROSECOND)
        for number, job in found.items():
            times = await asyncio.to_thread(list, islice(due_times_of_job(job, begin, end), limit))
            due = [
                DueTime(at=at, job_id=job_id(number), name=job.name, task=job.task, queue=job.queue)
                for at in times
            ]
            is_full = len(times) == limit
            place = DuePlace(times[-1], 0, -1, number) if is_full else None
            return DueTimePage(await self._fitting(due, wanted), self._store.cursor(place) if place else None)
        return DueTimePage([], None)

    async def timings(self, tenant_id: int, jobs: Sequence[int]) -> dict[int, TimedJob]:
        """What some jobs are called and when they are due; those of them that exist."""
        return await self._store.timings(tenant_id, jobs)

    async def _page(
        self, tenant_id: int, begin: datetime, end: datetime, limit: int, cursor: str | None
    ) -> DueTimePage:
        after = DuePlace(max(begin, await self._store.now()), 0, -1, 0)
        if cursor is not None:
            after = max(after, self._store.place(cursor))
        others = await self._store.other_rules_due_before(tenant_id, after.at, MOST_COMPUTED + 1)
        if len(others) > MOST_COMPUTED:
            return DueTimePage([], None, after.at)
        due = await self._store.rules_due_after(tenant_id, after, end, MOST_RULES + 1)
        rules, known_to = await asyncio.to_thread(_soonest, due, others, after, end)
        origins = [
            _Found((), known_to),
            await self._rounds(rules, after, end, limit),
            _found(await self._store.executions_due(tenant_id, after, end, limit), limit),
            _found(await self._store.deferred_jobs_due(tenant_id, after, end, limit), limit),
        ]
        return self._merge(origins, limit)

    def _merge(self, origins: Sequence[_Found], limit: int) -> DueTimePage:
        complete_to = min((each.complete_to for each in origins if each.complete_to), default=None)
        due = merge(*(each.jobs for each in origins), key=attrgetter("place"))
        sure = [job for job in due if complete_to is None or job.place <= complete_to]
        items = [_due_time(job) for job in sure if job.is_active]
        if len(items) >= limit:
            last = [job.place for job in sure if job.is_active][limit - 1]
            return DueTimePage(items[:limit], self._store.cursor(last))
        if complete_to is not None:
            return DueTimePage(items, self._store.cursor(complete_to), complete_to.at)
        return DueTimePage(items, None)

    async def _rounds(
        self, rules: Sequence[UpcomingRule], after: DuePlace, end: datetime, limit: int
    ) -> _Found:
        """The jobs of the next rounds."""
        rounds = merge(*(_rounds_of(rule, after, end) for rule in rules))
        jobs: list[DueJob] = []
        for _ in range(_MOST_ROUNDS // _ROUNDS_TOGETHER):
            batch = await asyncio.to_thread(list, islice(rounds, _ROUNDS_TOGETHER))
            if batch:
                jobs += await self._store.jobs_due_in(batch, limit - len(jobs))
            if len(jobs) == limit:
                return _Found(jobs, jobs[-1].place)
            if len(batch) < _ROUNDS_TOGETHER:
                return _Found(jobs, None)
        return _Found(jobs, batch[-1]._replace(priority=_LOWEST_PRIORITY, job_id=_LARGEST))


def _soonest(
    due: Sequence[tuple[datetime, UpcomingRule]],
    others: Sequence[UpcomingRule],
    after: DuePlace,
    end: datetime,
) -> tuple[list[UpcomingRule], DuePlace | None]:
    """The rules that are due first after a place, and where the first of the rest is due. None: they are all."""
    first = ((next(_rounds_of(rule, after, end), None), rule) for rule in others)
    computed = [(place.at, rule) for place, rule in first if place]
    found = sorted([*due, *computed], key=lambda each: (each[0], each[1].id))
    known_to = None
    if len(found) > MOST_RULES:
        at, rule = found[MOST_RULES]
        known_to = DuePlace(at, rule.id, *NOT_BEGUN)
    return [rule for _, rule in found[:MOST_RULES]], known_to


def _rounds_of(rule: UpcomingRule, after: DuePlace, end: datetime) -> Iterator[DuePlace]:
    """The places from which the jobs of each round of a rule are due. A rule that cannot be read has none."""
    for at in due_times(rule, after.at, end):
        cursor = rule.cursor if at == rule.next_at else NOT_BEGUN
        place = DuePlace(at, rule.id, *cursor)
        if (at, rule.id) >= (after.at, after.rule_id):
            yield max(place, after) if (at, rule.id) == (after.at, after.rule_id) else place


def due_times(rule: UpcomingRule, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The due times of a rule that have not been fired, from `begin` and before `end`."""
    try:
        times = timing_from_text(rule.timing).due_times(max(begin, rule.next_at) - _MICROSECOND)
    except Exception:  # noqa: BLE001 (the other rules must be shown)
        return
    for at in times:
        if at >= end:
            return
        yield at


def due_times_of_job(job: TimedJob, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The due times of one job, from `begin` and before `end`. A job that is paused or over has none."""
    if not job.is_active:
        return
    if job.rule is not None:
        last = end if job.active_until is None else min(end, job.active_until + _MICROSECOND)
        yield from due_times(job.rule, max(begin, job.active_from), last)
    elif job.once_at is not None and begin <= job.once_at < end:
        yield job.once_at


def _found(jobs: Sequence[DueJob], limit: int) -> _Found:
    return _Found(jobs, jobs[-1].place if len(jobs) == limit else None)


def _due_time(job: DueJob) -> DueTime:
    return DueTime(
        at=job.place.at, job_id=job_id(job.place.job_id), name=job.name, task=job.task, queue=job.queue
    )
