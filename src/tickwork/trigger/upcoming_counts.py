"""Counts what is coming in each step of a range, without a look at every job.

A rule's due times are computed once and multiplied by the number of its jobs. Beyond some numbers both are estimated:
the jobs of a large rule by the database's statistics, the due times of a frequent rule by their rate.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from typing import NamedTuple

from tickwork.model.upcoming import DueTimeCount, DueTimeCounts
from tickwork.schedule.compile_timing import timing_from_text
from tickwork.store.port.trigger import JobsInSpan, UpcomingRule, UpcomingStore
from tickwork.trigger.upcoming import MOST_RULES, due_times

_MOST_JOBS = 1000  # of a rule that are counted, if there are few rules
_MOST_JOBS_OF_ALL = 100_000  # divided among the rules
_LEAST_JOBS = 100  # of each rule
_MOST_ONE_TIME = 100_000
_MOST_TIMES = 400_000  # due times that are computed, divided among the rules
_LEAST_TIMES = 100  # of each rule
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Steps(NamedTuple):
    """A range in steps that begin at round times. The first and the last are cut off where the range ends."""

    first: datetime
    length: timedelta
    begin: datetime
    end: datetime

    @property
    def total(self) -> int:
        return -((self.first - self.end) // self.length)

    def number_of(self, at: datetime) -> int:
        return (at - self.first) // self.length

    def start_of(self, number: int) -> datetime:
        return self.first + number * self.length

    def bounds(self, number: int) -> tuple[datetime, datetime]:
        is_last = number == self.total - 1  # its full length may lead beyond the year 9999
        return max(self.start_of(number), self.begin), self.end if is_last else self.start_of(number + 1)


class _RuleCount(NamedTuple):
    counts: list[float]
    is_estimate: bool


class UpcomingCounts:
    def __init__(self, store: UpcomingStore) -> None:
        self._store = store

    async def count(self, tenant_id: int, begin: datetime, end: datetime, step: timedelta) -> DueTimeCounts:
        """Due times from `begin`, or from now on, and before `end`."""
        begin = max(begin, await self._store.now())
        steps = _Steps(_EPOCH + (begin - _EPOCH) // step * step, step, begin, max(end, begin))
        rules = await self._store.rules_due_before(tenant_id, end, MOST_RULES + 1)
        known_until = rules[MOST_RULES].next_at if len(rules) > MOST_RULES else None
        jobs, has_large = await self._jobs_of(rules[:MOST_RULES], begin)
        recurring = await asyncio.to_thread(_count_rules, rules[:MOST_RULES], jobs, steps)
        one_time, counted_until = await self._one_time(tenant_id, steps)
        items = [
            DueTimeCount(steps.start_of(number), round(count) + one_time[number])
            for number, count in enumerate(recurring.counts)
        ]
        searched_until = min((at for at in (known_until, counted_until) if at is not None), default=None)
        return DueTimeCounts(items, has_large or recurring.is_estimate, searched_until)

    async def _jobs_of(
        self, rules: Sequence[UpcomingRule], begin: datetime
    ) -> tuple[dict[int, list[JobsInSpan]], bool]:
        """The jobs of each rule, and whether some of their numbers are estimates."""
        jobs: dict[int, list[JobsInSpan]] = defaultdict(list)
        most = min(max(_MOST_JOBS_OF_ALL // max(len(rules), 1), _LEAST_JOBS), _MOST_JOBS)
        for span in await self._store.jobs_of_rules([rule.id for rule in rules], begin, most + 1):
            jobs[span.rule_id].append(span)
        large = [rule for rule, spans in jobs.items() if sum(span.jobs for span in spans) > most]
        estimated = await self._store.estimated_jobs_of_rules(large) if large else {}
        for rule in large:
            jobs[rule] = [JobsInSpan(rule, None, None, max(estimated.get(rule, 0), most + 1))]
        return jobs, bool(large)

    async def _one_time(self, tenant_id: int, steps: _Steps) -> tuple[list[int], datetime | None]:
        """The one-time jobs in each step, and up to when they were counted if they are too many."""
        counts, counted_until = [0] * steps.total, None
        found = await self._store.count_one_time(
            tenant_id, steps.begin, steps.end, steps.first, steps.length, _MOST_ONE_TIME
        )
        for due in found:
            counts[due.step] += due.jobs
        for is_deferred in (False, True):
            same = [due for due in found if due.is_deferred is is_deferred]
            if sum(due.jobs for due in same) == _MOST_ONE_TIME:
                last = max(due.last_at for due in same)
                counted_until = last if counted_until is None else min(counted_until, last)
        return counts, counted_until


def _count_rules(
    rules: Sequence[UpcomingRule], jobs: Mapping[int, Sequence[JobsInSpan]], steps: _Steps
) -> _RuleCount:
    totals, is_estimate = [0.0] * steps.total, False
    most = max(_MOST_TIMES // max(len(rules), 1), _LEAST_TIMES)
    for rule in rules:
        if rule.id in jobs:
            found = _count_rule(rule, jobs[rule.id], steps, most)
            totals = [total + count for total, count in zip(totals, found.counts, strict=True)]
            is_estimate |= found.is_estimate
    return _RuleCount(totals, is_estimate)


def _count_rule(rule: UpcomingRule, jobs: Sequence[JobsInSpan], steps: _Steps, most: int) -> _RuleCount:
    times = list(islice(due_times(rule, steps.begin, steps.end), most + 1))
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
