"""How jobs are doing: the SQL behind."""

from collections.abc import Sequence
from datetime import timedelta

import asyncpg

from tickwork.model.errors import NotFound
from tickwork.model.execution import ExecutionStatus
from tickwork.model.job import JobView
from tickwork.model.job_health import HISTORY, HeartbeatView, JobState, LastRun, RunSummary, health_of
from tickwork.model.public_ids import execution_id, job_id
from tickwork.model.stream_event import LATE_AFTER
from tickwork.store.pool import Database
from tickwork.store.port.read_jobs_executions_workers import RecentRun
from tickwork.store.query_files import queries
from tickwork.store.row_views import job_of

_RECENT = 10  # due times of a job that are looked at
_LATE = timedelta(seconds=LATE_AFTER)


class PostgresJobHealthStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("job_health")

    async def states(self, tenant_id: int, jobs: Sequence[int]) -> dict[int, JobState]:
        rows = await self._database.fetch(self._sql["job_states"], tenant_id, list(jobs), _RECENT, _LATE)
        return {row["job"]: _state(row) for row in rows}

    async def job_with_state(self, tenant_id: int, job: int) -> JobView:
        rows = await self._database.fetch(self._sql["jobs_with_states"], tenant_id, [job], _RECENT, _LATE)
        if not rows:
            raise NotFound("job", job_id(job))
        return job_of(rows[0], _state(rows[0]))

    async def recent_runs(self, tenant_id: int, job: int) -> list[RecentRun]:
        rows = await self._database.fetch(self._sql["recent_runs"], tenant_id, job, HISTORY)
        return [RecentRun(ExecutionStatus(row["status"]), row["duration"]) for row in rows]

    async def recent_runs_of(
        self, tenant_id: int, jobs: Sequence[int], count: int
    ) -> dict[int, list[RunSummary]]:
        rows = await self._database.fetch(self._sql["recent_runs_of_jobs"], tenant_id, list(jobs), count)
        runs: dict[int, list[RunSummary]] = {job: [] for job in jobs}
        for row in rows:
            run = RunSummary(
                id=execution_id(row["id"], row["scheduled_for"]),
                status=ExecutionStatus(row["status"]),
                scheduled_for=row["scheduled_for"],
                duration=row["duration"],
            )
            runs[row["id"]].append(run)
        return runs

    async def heartbeat(self, tenant_id: int, job: int) -> HeartbeatView | None:
        row = await self._database.fetchrow(queries("heartbeat_url_call")["heartbeat_of_job"], tenant_id, job)
        return HeartbeatView(**row) if row else None


def _state(row: asyncpg.Record) -> JobState:
    last_run = _last_run(row) if row["last_status"] else None
    has_failed = last_run is not None and last_run.status is ExecutionStatus.FAILED
    health = health_of(
        failing=row["failures_in_a_row"] is not None or has_failed,
        blocked=row["is_blocked"],
        late=row["is_late"],
        has_run=last_run is not None,
    )
    failures = row["failures_in_a_row"] or int(has_failed)
    since = row["failing_since"] or (last_run.finished_at if last_run and has_failed else None)
    return JobState(last_run, row["running"], failures, since, health)


def _last_run(row: asyncpg.Record) -> LastRun:
    started, finished, due = row["last_started_at"], row["last_finished_at"], row["last_scheduled_for"]
    return LastRun(
        execution_id=execution_id(row["job"], due),
        status=ExecutionStatus(row["last_status"]),
        scheduled_for=due,
        started_at=started,
        finished_at=finished,
        duration=(finished - started).total_seconds() if started else None,
    )
