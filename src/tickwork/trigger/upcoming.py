"""What is coming: the due times of all jobs in a range, in order.

The due times of recurring jobs are computed from their rules. What is created already, for one-time jobs and for
rounds that were fired ahead, is read. A request searches for a limited time; a page that is not full then says up to
when it is complete. `count_upcoming.py` counts them.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice, takewhile
from operator import attrgetter
from time import monotonic
from typing import NamedTuple

from tickwork.model.errors import Invalid
from tickwork.model.field_types import to_utc
from tickwork.model.public_ids import job_id
from tickwork.model.upcoming import ALL_DUE, DueFilter, DueTime, DueTimePage
from tickwork.store.port.trigger import DueJob, DuePlace, TimedJob, UpcomingRule, UpcomingStore
from tickwork.trigger.find_next_due_schedules import due_times, next_due_rules, rounds_of

COMPUTED_FIRST = 2000  # rules of the first part of a page, and four times as many of each further one
_MOST_COMPUTED = 100_000
_SEARCH_WITHIN = 2.0  # seconds, until the last part of a page is begun
_LOOKED_AT = 1000  # due times of a part, if a filter leaves only some of them
_ROUNDS_TOGETHER = 200
_MOST_ROUNDS = 2000  # of a part
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
        after = DuePlace(max(begin, await self._store.now()), 0, -1, 0)
        if cursor is not None:
            after = max(after, self._store.place(cursor))
        if wanted.job is not None:
            return await self._page_of_job(tenant_id, after, end, limit, wanted)
        found: list[DueJob] = []
        look_at = max(limit, _LOOKED_AT) if wanted.needs_look else limit
        most_computed, search_until = COMPUTED_FIRST, monotonic() + _SEARCH_WITHIN
        while True:
            part = await self._part(tenant_id, after, end, look_at, most_computed)
            found += await self._fitting(part.jobs, wanted)
            if len(found) >= limit or part.complete_to is None:
                return self._page_of(found, limit, is_last=part.complete_to is None)
            after = part.complete_to
            if monotonic() >= search_until:
                return DueTimePage([_due_time(job) for job in found], self._store.cursor(after), after.at)
            most_computed = min(4 * most_computed, _MOST_COMPUTED)

    def _page_of(self, found: Sequence[DueJob], limit: int, *, is_last: bool) -> DueTimePage:
        page = found[:limit]
        is_end = is_last and len(found) <= limit
        return DueTimePage(
            [_due_time(job) for job in page], None if is_end else self._store.cursor(page[-1].place)
        )

    async def _fitting(self, due: Sequence[DueJob], wanted: DueFilter) -> Sequence[DueJob]:
        if not wanted.needs_look:
            return due
        fitting = [
            each for each in due if wanted.task in (None, each.task) and wanted.queue in (None, each.queue)
        ]
        if wanted.tag is None or not fitting:
            return fitting
        tagged = await self._store.with_tag([each.place.job_id for each in fitting], wanted.tag)
        return [each for each in fitting if each.place.job_id in tagged]

    async def _page_of_job(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int, wanted: DueFilter
    ) -> DueTimePage:
        """Of one job, from its rule."""
        number = wanted.job or 0
        job = (await self.timings(tenant_id, [number])).get(number)
        if job is None:
            return DueTimePage([], None)
        begin = after.at + _MICROSECOND if after.job_id else after.at
        times = await asyncio.to_thread(list, islice(due_times_of_job(job, begin, end), limit + 1))
        due = [DueJob(DuePlace(at, 0, -1, number), job.name, job.task, job.queue) for at in times]
        return self._page_of(await self._fitting(due, wanted), limit, is_last=True)

    async def timings(self, tenant_id: int, jobs: Sequence[int]) -> dict[int, TimedJob]:
        """What some jobs are called and when they are due; those of them that exist."""
        return await self._store.timings(tenant_id, jobs)

    async def _part(
        self, tenant_id: int, after: DuePlace, end: datetime, limit: int, most_computed: int
    ) -> _Found:
        """The next due times of all origins, as far as they are known."""
        rules, known_to = await next_due_rules(self._store, tenant_id, after, end, most_computed)
        origins = [
            _Found((), known_to),
            await self._rounds(rules, after, end, limit),
            _found(await self._store.executions_due(tenant_id, after, end, limit), limit),
            _found(await self._store.deferred_jobs_due(tenant_id, after, end, limit), limit),
        ]
        complete_to = min((each.complete_to for each in origins if each.complete_to), default=None)
        due = merge(*(each.jobs for each in origins), key=attrgetter("place"))
        sure = takewhile(lambda job: complete_to is None or job.place <= complete_to, due)
        return _Found([job for job in sure if job.is_active], complete_to)

    async def _rounds(
        self, rules: Sequence[UpcomingRule], after: DuePlace, end: datetime, limit: int
    ) -> _Found:
        """The jobs of the next rounds."""
        rounds = merge(*(rounds_of(rule, after, end) for rule in rules))
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
