"""When a job is due, as its row says it."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from tickwork.model.job import JobSpec
from tickwork.model.schedule import MOST_RUNS, Once, Recurring, nth_due_time
from tickwork.store.rule_membership import LockedRules


class JobTiming(NamedTuple):
    rule_id: int | None
    scheduled_for: datetime | None
    deferred: bool  # due beyond the partitions that exist: its execution is created later
    due: datetime | None  # what must have an execution at once
    next_run_at: datetime | None
    until: datetime | None = None  # the last of its due times, when it has only so many


def job_timing(
    job: int,
    spec: JobSpec,
    rules: LockedRules,
    now: datetime,
    horizon: datetime,
    last_due_at: datetime | None,
) -> JobTiming:
    """`horizon`: up to when there are partitions for executions."""
    rule = rules.of(spec)
    if rule:
        if spec.parents:  # its executions are made with theirs
            return JobTiming(rule.id, None, False, None, rule.next_at)
        due = rule.passed(now, (spec.priority, job))
        return JobTiming(rule.id, None, False, due, rule.next_at, until=last_due_at)
    assert isinstance(spec.schedule, Once)  # noqa: S101 (what has no rule is due once)
    at = max(spec.schedule.at or now, now)
    deferred = at >= horizon
    return JobTiming(None, at, deferred, None if deferred else at, at)


def runs(spec: JobSpec) -> int | None:
    """How many due times a job has, when it has only so many."""
    return spec.schedule.timing.max_runs if isinstance(spec.schedule, Recurring) else None


def last_due(spec: JobSpec, now: datetime) -> datetime | None:
    """The last of its due times, when it has only so many."""
    count = runs(spec)
    return (
        nth_due_time(spec.schedule.timing, now, count)
        if count and isinstance(spec.schedule, Recurring)
        else None
    )


async def last_due_times(specs: Mapping[int, JobSpec], now: datetime) -> dict[int, datetime | None]:
    """The same of many jobs. With many runs of many schedules that takes long, so it is done beside the event loop."""
    counted = {job: spec for job, spec in specs.items() if runs(spec) and not spec.parents}
    different = {(spec.schedule, runs(spec)) for spec in counted.values()}
    if sum(count or 0 for _, count in different) <= MOST_RUNS:
        return {job: last_due(spec, now) for job, spec in counted.items()}
    return await asyncio.to_thread(lambda: {job: last_due(spec, now) for job, spec in counted.items()})
