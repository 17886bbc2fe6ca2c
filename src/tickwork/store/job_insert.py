"""Inserts new jobs, their lanes and the executions that are due at once."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tickwork.model.job import JobSpec
from tickwork.model.schedule import MOST_RUNS, Once, Recurring, last_of
from tickwork.store.batch_columns import columns
from tickwork.store.pool import Connection
from tickwork.store.port.define import Made
from tickwork.store.query_files import queries
from tickwork.store.queue_store import refuse_if_full
from tickwork.store.rule_membership import LockedRules


class JobTiming(NamedTuple):
    rule_id: int | None
    scheduled_for: datetime | None
    held: bool
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
    held = at >= horizon
    return JobTiming(None, at, held, None if held else at, at)


def runs(spec: JobSpec) -> int | None:
    """How many due times a job has, when it has only so many."""
    return spec.schedule.timing.max_runs if isinstance(spec.schedule, Recurring) else None


def last_due(spec: JobSpec, now: datetime) -> datetime | None:
    """The last of its due times, when it has only so many."""
    count = runs(spec)
    return (
        last_of(spec.schedule.timing, now, count) if count and isinstance(spec.schedule, Recurring) else None
    )


async def last_due_times(specs: Mapping[int, JobSpec], now: datetime) -> dict[int, datetime | None]:
    """The same of many jobs. With many runs of many schedules that takes long, so it is done beside the event loop."""
    counted = {job: spec for job, spec in specs.items() if runs(spec) and not spec.parents}
    different = {(spec.schedule, runs(spec)) for spec in counted.values()}
    if sum(count or 0 for _, count in different) <= MOST_RUNS:
        return {job: last_due(spec, now) for job, spec in counted.items()}
    return await asyncio.to_thread(lambda: {job: last_due(spec, now) for job, spec in counted.items()})


LaneName = tuple[str, str, str]  # queue, task, terms


class JobLane(NamedTuple):
    id: int
    is_bounded: bool  # only so much may wait in its queue


def lane_name(spec: JobSpec) -> LaneName:
    return spec.queue, spec.task, spec.terms


async def ensure_lanes(
    connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
) -> dict[LaneName, JobLane]:
    sql = queries("define")
    wanted = sorted({lane_name(spec) for spec in specs})
    columns = [[*column] for column in zip(*wanted, strict=True)] or [[], [], []]
    rows = await connection.fetch(sql["find_lanes"], tenant_id, *columns)
    if len(rows) < len(wanted):
        keys = {limit.key for spec in specs for limit in spec.request.limits}
        if keys:
            await connection.execute(sql["ensure_gates"], tenant_id, sorted(keys))
        await connection.execute(sql["ensure_lanes"], tenant_id, *columns)
        rows = await connection.fetch(sql["find_lanes"], tenant_id, *columns)
    return {(row["queue"], row["task"], row["terms"]): JobLane(row["id"], row["is_bounded"]) for row in rows}


class _NewJob(NamedTuple):
    id: int
    spec: JobSpec
    lane: JobLane
    timing: JobTiming
    followed: bool

    def made(self, now: datetime) -> Made:
        waits_for_others = self.spec.parents and self.timing.rule_id is None
        next_run_at = None if waits_for_others else self.timing.next_run_at
        return Made(self.id, now, next_run_at, self.timing.scheduled_for)


async def insert_jobs(
    connection: Connection,
    tenant_id: int,
    specs: Mapping[int, JobSpec],
    rules: LockedRules,
    now: datetime,
    horizon: datetime,
    followed: Collection[int],
) -> list[Made]:
    if not specs:
        return []
    sql = queries("define")
    lanes = await ensure_lanes(connection, tenant_id, [*specs.values()])
    last = await last_due_times(specs, now)
    new = [
        _NewJob(
            job,
            spec,
            lanes[lane_name(spec)],
            job_timing(job, spec, rules, now, horizon, last.get(job)),
            job in followed,
        )
        for job, spec in specs.items()
    ]
    if crowding := _crowding(new, now):
        await refuse_if_full(connection, crowding)
    await connection.execute(sql["insert_jobs"], tenant_id, now, *columns(map(_job_row, new)))
    if due := [job for job in new if job.timing.due]:
        await connection.execute(sql["insert_executions"], tenant_id, *columns(map(_execution_row, due)))
    return [job.made(now) for job in new]


def _crowding(new: Sequence[_NewJob], now: datetime) -> list[int]:
    """The lanes of jobs that come to wait in queues in which only so much may."""
    return [
        job.lane.id
        for job in new
        if job.lane.is_bounded and job.timing.scheduled_for == now and not job.spec.parents
    ]


def _job_row(job: _NewJob) -> tuple[Any, ...]:
    spec, timing, request = job.spec, job.timing, job.spec.request
    return (
        job.id, timing.rule_id, timing.scheduled_for, timing.until, timing.held, job.lane.id, spec.timeout,
        request.overlap, request.on_worker_lost, spec.priority, spec.task, spec.payload, spec.target, request.name,
        request.key, _literal(request.tags), spec.definition, job.followed, bool(spec.parents),
    )  # fmt: skip


def _execution_row(job: _NewJob) -> tuple[Any, ...]:
    return job.timing.due, job.id, job.lane.id, job.spec.priority, bool(job.spec.parents), job.followed


def _literal(tags: Sequence[str]) -> str:
    """As PostgreSQL writes a list: a column of lists of different lengths could not be sent."""
    escaped = (tag.replace("\\", "\\\\").replace('"', '\\"') for tag in tags)
    return "{" + ",".join(f'"{tag}"' for tag in escaped) + "}" if tags else "{}"
