"""When a job is due: the columns of its row, and the execution that it needs at once."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from tickwork.model.job import JobSpec
from tickwork.model.parsed_schedule_and_preview import MOST_RUNS, Once, Recurring, nth_due_time
from tickwork.store.lock_schedule_rules import LockedRules


class JobTiming(NamedTuple):
    rule_id: int | None
    scheduled_for: datetime | None
    deferred: bool  # due beyond the partitions that exist: its execution is created later
    due: datetime | None  # the due time that needs an execution at once
    next_run_at: datetime | None
    until: datetime | None = None  # its last due time, when its number of runs is limited


def job_timing(
    job: int,
    spec: JobSpec,
    rules: LockedRules,
    now: datetime,
    horizon: datetime,
    last_due_at: datetime | None,
) -> JobTiming:
    """`horizon`: until when there are partitions for executions."""
    rule = rules.of(spec)
    if rule:
        if spec.parents:  # its executions are created with those of its parents
            return JobTiming(rule.id, None, False, None, rule.next_at)
        due = rule.passed(now, (spec.priority, job))
        return JobTiming(rule.id, None, False, due, rule.next_at, until=last_due_at)
    assert isinstance(spec.schedule, Once)  # noqa: S101 (a job without a rule is a one-time job)
    at = max(spec.schedule.at or now, now)
    deferred = at >= horizon
    return JobTiming(None, at, deferred, None if deferred else at, at)


def runs(spec: JobSpec) -> int | None:
    """The number of due times of a job, if it is limited."""
    return spec.schedule.timing.max_runs if isinstance(spec.schedule, Recurring) else None


def last_due(spec: JobSpec, now: datetime) -> datetime | None:
    """The last due time of a job with a limited number of runs."""
    count = runs(spec)
    return (
        nth_due_time(spec.schedule.timing, now, count)
        if count and isinstance(spec.schedule, Recurring)
        else None
    )


async def last_due_times(specs: Mapping[int, JobSpec], now: datetime) -> dict[int, datetime | None]:
    """The same for many jobs. In a thread when there is much to compute, so that the event loop is not blocked."""
    limited = {job: spec for job, spec in specs.items() if runs(spec) and not spec.parents}
    distinct = {(spec.schedule, runs(spec)) for spec in limited.values()}
    if sum(count or 0 for _, count in distinct) <= MOST_RUNS:
        return {job: last_due(spec, now) for job, spec in limited.items()}
    return await asyncio.to_thread(lambda: {job: last_due(spec, now) for job, spec in limited.items()})
