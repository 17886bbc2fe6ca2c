"""What the services that show jobs, executions and workers ask of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from tickwork.model.execution import (
    AttemptView,
    CountKind,
    ExecutionCount,
    ExecutionFilter,
    ExecutionKey,
    ExecutionPage,
    ExecutionStatus,
    ExecutionView,
    MissedView,
)
from tickwork.model.field_types import Page
from tickwork.model.job import JobView
from tickwork.model.job_change_record import JobChange
from tickwork.model.job_filter import JobCount, JobCountKind, JobFilter, JobPage
from tickwork.model.job_graph import JobGraph
from tickwork.model.job_health import HeartbeatView, RunSummary
from tickwork.model.worker import WorkerFilter, WorkerView


class RecentRun(NamedTuple):
    status: ExecutionStatus
    duration: float | None  # seconds


class JobHealthStore(Protocol):
    async def job_with_state(self, tenant_id: int, job: int) -> JobView:
        """With its last run, what runs now, and its health. NotFound when it is not this tenant's."""

    async def recent_runs(self, tenant_id: int, job: int) -> list[RecentRun]:
        """The latest executions of a job that ran and ended, latest first."""

    async def recent_runs_of(
        self, tenant_id: int, jobs: Sequence[int], count: int
    ) -> dict[int, list[RunSummary]]:
        """The latest executions of each of these jobs that are due, latest first."""

    async def heartbeat(self, tenant_id: int, job: int) -> HeartbeatView | None: ...


class ReadStore(Protocol):
    async def now(self) -> datetime: ...

    async def jobs_by_id(self, tenant_id: int, jobs: Sequence[int]) -> list[JobView]:
        """In the given order. NotFound when one is not this tenant's."""

    async def changes(self, tenant_id: int, job: int, limit: int, cursor: str | None) -> Page[JobChange]:
        """Latest first. NotFound when the job is not this tenant's."""

    async def graph(self, tenant_id: int, job: int, limit: int) -> JobGraph:
        """NotFound when the job is not this tenant's."""

    async def execution(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView: ...

    async def executions_by_key(self, keys: Sequence[ExecutionKey]) -> list[ExecutionView]:
        """Those of the executions that exist, as lists show them."""

    async def ended(self, keys: Sequence[ExecutionKey]) -> list[ExecutionKey]:
        """Those of the executions that have ended."""

    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime) -> list[AttemptView]: ...

    async def missed(self, tenant_id: int, job: int, limit: int) -> list[MissedView]: ...

    async def workers(
        self, tenant_id: int, wanted: WorkerFilter, limit: int, cursor: str | None
    ) -> Page[WorkerView]:
        """Full, or the last one."""

    async def worker(self, tenant_id: int, worker: int) -> WorkerView: ...


class ExecutionSearch(Protocol):
    async def page(
        self, tenant_id: int, wanted: ExecutionFilter, limit: int, cursor: str | None
    ) -> ExecutionPage: ...

    async def count(self, tenant_id: int, wanted: ExecutionFilter, kind: CountKind) -> ExecutionCount:
        """An exact count may come out as "at least", when counting on would take too long."""


class JobSearch(Protocol):
    async def ids(self, tenant_id: int, wanted: JobFilter, limit: int) -> list[int]:
        """The jobs that match, newest first."""

    async def page(self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None) -> JobPage:
        """Full, or the last one, unless it took too long. Each job has its last run, what runs now, and its health."""

    async def count(self, tenant_id: int, wanted: JobFilter, kind: JobCountKind) -> JobCount:
        """An exact count may come out as "at least", when counting on would take too long."""
