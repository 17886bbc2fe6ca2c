"""What making and changing jobs asks of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from tickwork.model.default import TaskDefaults
from tickwork.model.job import JobSpec, JobStatus


class Definition(NamedTuple):
    """A job as it was defined, and which version that is."""

    document: dict[str, Any]
    version: int


class Made(NamedTuple):
    job: int
    created_at: datetime | None = None  # None: it was there before, and is kept or replaced
    next_run_at: datetime | None = None  # of a new one
    scheduled_for: datetime | None = None  # of a new one that is due once

    @property
    def is_new(self) -> bool:
        return self.created_at is not None


class KnownTask(NamedTuple):
    """A task as its workers described it."""

    schema: str  # of its payload
    defaults: TaskDefaults


class ParentJob(NamedTuple):
    """A job that others may depend on."""

    id: int
    status: JobStatus
    timing: str | None  # of one that repeats
    catch_up: str | None
    is_known: bool  # else it was due once, and how it ended is forgotten


class DefineStore(Protocol):
    async def find_tasks(self, tenant_id: int, names: set[str]) -> dict[str, KnownTask]:
        """Those of them that some worker has offered."""

    async def task_names(self, tenant_id: int) -> list[str]: ...

    async def find_keys(self, tenant_id: int, keys: set[str]) -> dict[str, int]:
        """The jobs that have these keys, but for cancelled ones."""

    async def find_parents(self, tenant_id: int, jobs: set[int]) -> dict[int, ParentJob]:
        """Those of them that exist."""

    async def create(self, tenant_id: int, specs: Sequence[JobSpec]) -> list[Made]:
        """All or none; Conflict when a key is taken and the job says that this is an error."""

    async def definition(self, tenant_id: int, job: int) -> Definition: ...

    async def change(self, tenant_id: int, job: int, spec: JobSpec, version: int) -> None:
        """Stale when the job is no longer at that version."""

    async def set_status(
        self, tenant_id: int, job: int, status: JobStatus, version: int | None = None
    ) -> None:
        """Stale when a version is given and the job is no longer at it."""
