"""What the define stage asks of the store: jobs, manual runs, backfills."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from tickwork.model.backfill import BackfillRequest, BackfillView, Policy
from tickwork.model.job import JobSpec, JobStatus
from tickwork.model.overlap import Overlap
from tickwork.model.page import Page
from tickwork.model.task import TaskDefaults


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


class RunStore(Protocol):
    async def run(self, tenant_id: int, job: int, overlap: Overlap) -> datetime:
        """One more execution, due now; Conflict when it would overlap and must not."""


class OwnTimes(NamedTuple):
    """When a job is due."""

    timing: str
    until: datetime | None  # due times after this are not its own


class BackfillTurn(NamedTuple):
    """A backfill as it stood when looked at, and what it may run next."""

    id: int
    made: int
    times: list[datetime]


class Filled(NamedTuple):
    """How many due times got their execution, and for how many somebody else was quicker."""

    made: int
    passed_over: int


class BackfillStore(Protocol):
    async def own_times(self, tenant_id: int, job: int) -> OwnTimes:
        """Conflict when the job is not due again and again."""

    async def to_fill(
        self, tenant_id: int, job: int, times: Sequence[datetime], policy: Policy
    ) -> list[datetime]:
        """Those of the times, in the same order, that the policy would run."""

    async def create(
        self, tenant_id: int, job: int, request: BackfillRequest, times: Sequence[datetime]
    ) -> int: ...

    async def backfill(self, tenant_id: int, backfill: int) -> BackfillView: ...

    async def backfills(
        self, tenant_id: int, job: int, limit: int, cursor: str | None
    ) -> Page[BackfillView]: ...

    async def cancel(self, tenant_id: int, backfill: int) -> None:
        """Conflict when it has completed."""

    async def next_turn(self, after: int) -> BackfillTurn | None:
        """The next backfill under way after that one."""

    async def fill(self, turn: BackfillTurn) -> Filled:
        """Nothing, when the backfill no longer stands where the turn says, or its job is paused."""

    async def give_up(self, backfill: int) -> None:
        """It cannot be filled: no more of it is made, and it has ended."""
