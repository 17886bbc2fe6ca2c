"""Lists what is coming: every due time of all jobs in a range, in order.

The due times of recurring jobs are computed from their rules. What is created already, for one-time jobs and for
rounds that were fired ahead, is read. A request computes a limited number of rounds; a page that is not full says up to
when it is complete.
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
from tickwork.model.ids import job_id
from tickwork.model.upcoming import DueTime, DueTimePage
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.trigger import NOT_BEGUN, DueJob, DuePlace, UpcomingRule, UpcomingStore

MOST_RULES = 5000  # of a request: the soonest
_ROUNDS_TOGETHER = 100
_MOST_ROUNDS = 2000  # of a request
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
        self, tenant_id: int, begin: datetime, end: datetime, limit: int, cursor: str | None
    ) -> DueTimePage:
        """Due times from `begin`, or from now on, and before `end`."""
        after = DuePlace(max(begin, await self._store.now()), 0, -1, 0)
        if cursor is not None:
            after = max(after, self._store.place(cursor))
        rules = await self._store.rules_due_before(tenant_id, end, MOST_RULES + 1)
        known_until = rules[MOST_RULES].next_at if len(rules) > MOST_RULES else None
        if known_until is not None:
            end = known_until
        origins = [
            await self._rounds(rules[:MOST_RULES], after, end, limit),
            _found(await self._store.executions_due(tenant_id, after, end, limit), limit),
            _found(await self._store.deferred_jobs_due(tenant_id, after, end, limit), limit),
        ]
        return self._merge(origins, limit, known_until)

    def _merge(self, origins: Sequence[_Found], limit: int, known_until: datetime | None) -> DueTimePage:
        complete_to = min((each.complete_to for each in origins if each.complete_to), default=None)
        due = merge(*(each.jobs for each in origins), key=attrgetter("place"))
        sure = [job for job in due if complete_to is None or job.place <= complete_to]
        items = [_due_time(job) for job in sure if job.is_active]
        if len(items) >= limit:
            last = [job.place for job in sure if job.is_active][limit - 1]
            return DueTimePage(items[:limit], self._store.cursor(last))
        if complete_to is not None:
            return DueTimePage(items, self._store.cursor(complete_to), complete_to.at)
        return DueTimePage(items, None, known_until)

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


def _found(jobs: Sequence[DueJob], limit: int) -> _Found:
    return _Found(jobs, jobs[-1].place if len(jobs) == limit else None)


def _due_time(job: DueJob) -> DueTime:
    return DueTime(
        at=job.place.at, job_id=job_id(job.place.job_id), name=job.name, task=job.task, queue=job.queue
    )
