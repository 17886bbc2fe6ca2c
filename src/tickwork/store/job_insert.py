"""Inserts new jobs, their lanes and the executions that are due at once."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter

from tickwork.model.access import Author
from tickwork.model.job import JobSpec
from tickwork.store.batch_columns import columns
from tickwork.store.heartbeat_url_call_store import set_heartbeats
from tickwork.store.job_columns import INSERT_JOBS, JobLane, JobRow, values_of_new
from tickwork.store.job_timing import job_timing, last_due_times
from tickwork.store.lock_schedule_rules import LockedRules
from tickwork.store.pool import Connection
from tickwork.store.port.define import Made
from tickwork.store.query_files import queries
from tickwork.store.queue_store import refuse_if_full
from tickwork.store.retention_store import set_retentions

LaneName = tuple[str, str, str]  # queue, task, placement
_VALUES_OF_EXECUTION = attrgetter("timing.due", "id", "lane.id", "spec.priority", "depends", "followed")


def lane_name(spec: JobSpec) -> LaneName:
    return spec.queue, spec.task, spec.placement


async def ensure_lanes(
    connection: Connection, tenant_id: int, specs: Sequence[JobSpec]
) -> dict[LaneName, JobLane]:
    sql = queries("create_and_change_job")
    wanted = sorted({lane_name(spec) for spec in specs})
    columns = [[*column] for column in zip(*wanted, strict=True)] or [[], [], []]
    rows = await connection.fetch(sql["find_lanes"], tenant_id, *columns)
    if len(rows) < len(wanted):
        keys = {limit.key for spec in specs for limit in spec.request.limits}
        if keys:
            await connection.execute(sql["ensure_limiters"], tenant_id, sorted(keys))
        await connection.execute(sql["ensure_lanes"], tenant_id, *columns)
        rows = await connection.fetch(sql["find_lanes"], tenant_id, *columns)
    return {
        (row["queue"], row["task"], row["placement"]): JobLane(row["id"], row["is_bounded"]) for row in rows
    }


async def insert_jobs(
    connection: Connection,
    tenant_id: int,
    specs: Mapping[int, JobSpec],
    rules: LockedRules,
    now: datetime,
    horizon: datetime,
    followed: Collection[int],
    author_of: Mapping[int, Author | None],
) -> list[Made]:
    if not specs:
        return []
    lanes = await ensure_lanes(connection, tenant_id, [*specs.values()])
    last = await last_due_times(specs, now)
    new = [
        JobRow(
            job,
            spec,
            lanes[lane_name(spec)],
            job_timing(job, spec, rules, now, horizon, last.get(job)),
            job in followed,
            author_of.get(job),
        )
        for job, spec in specs.items()
    ]
    if bounded := _bounded_lanes(new, now):
        await refuse_if_full(connection, bounded)
    await connection.execute(INSERT_JOBS, tenant_id, now, *columns(map(values_of_new, new)))
    urls = {job: url for job, spec in specs.items() if (url := spec.request.heartbeat_url)}
    if urls:
        await set_heartbeats(connection, tenant_id, urls)
    kept = {job: retention for job, spec in specs.items() if (retention := spec.request.retention)}
    if kept:
        await set_retentions(connection, tenant_id, kept)
    if due := [job for job in new if job.timing.due]:
        await connection.execute(
            queries("create_and_change_job")["insert_first_executions"],
            tenant_id,
            *columns(map(_VALUES_OF_EXECUTION, due)),
        )
    return [_made(job, now) for job in new]


def _bounded_lanes(new: Sequence[JobRow], now: datetime) -> list[int]:
    """The lanes of new jobs that wait from now on in queues with a limit on that."""
    return [
        job.lane.id
        for job in new
        if job.lane.is_bounded and job.timing.scheduled_for == now and not job.spec.parents
    ]


def _made(job: JobRow, now: datetime) -> Made:
    waits_for_others = job.depends and job.timing.rule_id is None
    next_run_at = None if waits_for_others else job.timing.next_run_at
    return Made(job.id, now, next_run_at, job.timing.scheduled_for)
