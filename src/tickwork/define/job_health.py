"""How jobs are doing, beside what they are."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tickwork.model.execution import ExecutionStatus
from tickwork.model.job import JobView
from tickwork.model.job_health import JobHealthView, summarize
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.schedule.preview import preview
from tickwork.store.port.read_jobs_executions_workers import JobHealthStore, ReadStore

_NEXT_RUNS = 5


class JobHealth:
    def __init__(self, store: JobHealthStore, read: ReadStore) -> None:
        self._store = store
        self._read = read

    async def job(self, tenant_id: int, number: int) -> JobView:
        """The job with its last run, what runs now, and its health. NotFound when it is not this tenant's."""
        return await self._store.job_with_state(tenant_id, number)

    async def with_recent_runs(self, tenant_id: int, jobs: Sequence[JobView], count: int) -> list[JobView]:
        """The jobs with their latest executions."""
        numbers = [parse_job_id(job.id) for job in jobs]
        runs = await self._store.recent_runs_of(tenant_id, numbers, count) if numbers else {}
        return [
            msgspec.structs.replace(job, recent_runs=runs[number])
            for number, job in zip(numbers, jobs, strict=True)
        ]

    async def get(self, tenant_id: int, number: int) -> JobHealthView:
        """NotFound when the job is not this tenant's."""
        job = await self.job(tenant_id, number)
        runs = await self._store.recent_runs(tenant_id, number)
        completed = sum(run.status is ExecutionStatus.COMPLETED for run in runs)
        durations = summarize([run.duration for run in runs if run.duration is not None])
        return JobHealthView(
            job_id=job_id(number),
            health=job.health,
            last_run=job.last_run,
            running=job.running,
            failures_in_a_row=job.failures_in_a_row,
            failing_since=job.failing_since,
            runs=len(runs),
            success_share=completed / len(runs) if runs else None,
            typical_duration=durations.typical,
            p95_duration=durations.p95,
            next_runs=await self._next_runs(job),
            heartbeat=await self._store.heartbeat(tenant_id, number) if job.heartbeat_url else None,
        )

    async def _next_runs(self, job: JobView) -> list[datetime]:
        if job.next_run_at is None:
            return []
        if job.execution_id is not None:  # a one-time job
            return [job.next_run_at]
        shown = preview(job.schedule, None, now=await self._read.now(), after=None, count=_NEXT_RUNS)
        return [time.at for time in shown.times]
