"""New jobs and what of them is due at once, written into their tables."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tickwork.model.job import JobSpec
from tickwork.store.column import columns
from tickwork.store.lane import JobLane, ensure_lanes, lane_name
from tickwork.store.membership import LockedRules
from tickwork.store.pool import Connection
from tickwork.store.port.define import Made
from tickwork.store.query import queries
from tickwork.store.queue import refuse_if_full
from tickwork.store.timing import JobTiming, job_timing, last_due_times


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
