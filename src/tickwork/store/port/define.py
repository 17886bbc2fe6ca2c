"""What the define stage asks of the store: jobs, manual runs, backfills, channels."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from tickwork.model.access import Author
from tickwork.model.backfill import BackfillRequest, BackfillView, Policy
from tickwork.model.channel import Channel, ChannelDeliveries, StoredChannel
from tickwork.model.execution import ExecutionKey
from tickwork.model.field_types import Page
from tickwork.model.job import JobSpec, JobStatus, RunningChoice
from tickwork.model.overlap import Overlap
from tickwork.model.purge_progress import PurgeView
from tickwork.model.task import TaskDefaults


class Definition(NamedTuple):
    """A job as it was defined, with its version."""

    document: dict[str, Any]
    version: int


class Made(NamedTuple):
    job: int
    created_at: datetime | None = None  # None: the job existed, and was kept or replaced
    next_run_at: datetime | None = None  # of a new job
    scheduled_for: datetime | None = None  # of a new one-time job

    @property
    def is_new(self) -> bool:
        return self.created_at is not None


class KnownTask(NamedTuple):
    """A task as its workers described it, or as it was declared."""

    schema: str  # of its payload
    defaults: TaskDefaults
    retired: bool = False
    replacement: str | None = None  # the task to use instead of a retired one


class ParentJob(NamedTuple):
    """A job that others may depend on."""

    id: int
    status: JobStatus
    timing: str | None  # of a recurring job
    catch_up: str | None
    is_known: bool  # False: a one-time job whose execution was deleted with its history


class JobStore(Protocol):
    async def find_tasks(self, tenant_id: int, names: set[str]) -> dict[str, KnownTask]:
        """Those of the tasks that a worker has offered, or that were declared."""

    async def task_names(self, tenant_id: int) -> list[str]: ...

    async def channel_names(self, tenant_id: int) -> list[str]: ...

    async def find_keys(self, tenant_id: int, keys: set[str]) -> dict[str, int]:
        """The jobs with these keys, without cancelled ones."""

    async def find_parents(self, tenant_id: int, jobs: set[int]) -> dict[int, ParentJob]:
        """Those of the jobs that exist."""

    async def create(
        self, tenant_id: int, specs: Sequence[JobSpec], authors: Sequence[Author | None] = ()
    ) -> list[Made]:
        """Create all jobs or none. Conflict when a key is taken and the job has `if_exists: error`. `authors`: none, or
        one for each job."""

    async def definition(self, tenant_id: int, job: int) -> Definition: ...

    async def change(
        self, tenant_id: int, job: int, spec: JobSpec, version: int, author: Author | None = None
    ) -> None:
        """Stale when the job has another version."""

    async def set_status(
        self,
        tenant_id: int,
        job: int,
        status: JobStatus,
        version: int | None = None,
        author: Author | None = None,
        running: RunningChoice = "leave",
    ) -> None:
        """Stale when a version is given and the job has another one. `running`: of a job that is cancelled."""


class ReadyFanOut(NamedTuple):
    """An execution that runs for each element of a list, and has nothing to wait for."""

    key: ExecutionKey
    attempt: int
    lane_id: int
    definition: bytes
    payload: bytes
    is_expanded: bool  # its elements were created, and have completed
    due_in: timedelta


class ListOutcome(NamedTuple):
    """How a parent ended that returns a list."""

    result: bytes | None
    not_taken: bool


class FanOutStore(Protocol):
    async def ready(self, limit: int, ahead: timedelta) -> list[ReadyFanOut]:
        """Those that have waited longest, then those that are due within `ahead`."""

    async def are_used(self) -> bool:
        """Whether there ever was one."""

    async def refuse_if_full(self, fan_out: ReadyFanOut, elements: int) -> None:
        """QueueFull when its queue has no capacity for so many."""

    async def outcome_of(self, fan_out: ReadyFanOut, parent: int) -> ListOutcome:
        """What the parent returned in the same round."""

    def expanding(self, fan_out: ReadyFanOut) -> AbstractAsyncContextManager[bool]:
        """A transaction in which its elements are created. False: somebody else has done so, or it has ended."""

    async def link(self, fan_out: ReadyFanOut, elements: Sequence[int]) -> None:
        """Make it wait for the jobs of its elements, in the same transaction."""

    async def complete(self, fan_out: ReadyFanOut) -> None:
        """With the results of its elements, in their order."""

    async def fail(self, fan_out: ReadyFanOut, reason: str) -> None: ...

    async def skip(self, fan_out: ReadyFanOut, reason: str) -> None: ...

    async def put_off(self, fan_out: ReadyFanOut, by: timedelta, reason: str) -> None:
        """Let others come first for a while."""

    async def cancel_elements(self, limit: int) -> int | None:
        """Cancel elements of one fan-out that was cancelled. How many there were; None when there was no fan-out."""


class RunNowStore(Protocol):
    async def run(self, tenant_id: int, job: int, overlap: Overlap, worker: str | None = None) -> datetime:
        """Create an execution that is due now, for the worker of this name only if one is given. Conflict when the
        overlap policy forbids it."""


class JobDueTimes(NamedTuple):
    """The schedule of a recurring job."""

    timing: str
    until: datetime | None  # its last due time, when its number of runs is limited


class BackfillTurn(NamedTuple):
    """The progress of a backfill when it was read, and the due times that it may run next."""

    id: int
    made: int
    times: list[datetime]


class Filled(NamedTuple):
    """How many due times got an execution, and how many had one already."""

    made: int
    passed_over: int


class BackfillStore(Protocol):
    async def due_times_of(self, tenant_id: int, job: int) -> JobDueTimes:
        """Conflict when the job has no schedule of its own to fill."""

    async def to_fill(
        self, tenant_id: int, job: int, times: Sequence[datetime], policy: Policy
    ) -> list[datetime]:
        """Those of the due times, in the same order, that the policy would run."""

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
        """The next backfill by id that has not ended."""

    async def fill(self, turn: BackfillTurn) -> Filled:
        """Create executions. None when the backfill has made progress since the turn was read, or its job is paused."""

    async def give_up(self, backfill: int) -> None:
        """End a backfill that cannot go on."""


class JobIndex(Protocol):
    """The index that jobs are found by. Each step is a transaction, and one node at a time does it."""

    async def index(self) -> int:
        """Index some new and changed jobs. Returns how many there were; 0: nothing is to be done for now."""

    async def settle(self) -> int:
        """Note how some one-time jobs ended. Returns how many were looked at for the first time."""

    async def clean(self, after: tuple[int, int]) -> tuple[int, int] | None:
        """Remove jobs that are gone from the segment after this one. Returns that segment; None: there is none."""


class ChannelStore(Protocol):
    async def list(self, tenant_id: int, limit: int, cursor: str | None) -> Page[StoredChannel]: ...

    async def deliveries(self, channels: Sequence[int]) -> Mapping[int, ChannelDeliveries]:
        """By the ids of the channels, each of which is in the answer."""

    async def find(self, tenant_id: int, channel_id: int) -> StoredChannel | None: ...

    async def get(self, tenant_id: int, name: str) -> StoredChannel:
        """NotFound when there is none."""

    async def set(
        self, tenant_id: int, name: str, decide: Callable[[Channel | None], Channel]
    ) -> StoredChannel:
        """Create or replace a channel by what is decided, given the stored one, which is locked meanwhile."""

    async def delete(self, tenant_id: int, name: str) -> StoredChannel:
        """NotFound when there is none."""


class PurgeStore(Protocol):
    async def begin(
        self, tenant_id: int, job: int, author: Author | None, running: RunningChoice, version: int | None
    ) -> None:
        """Cancel the job for good, and note that everything about it is to be deleted. Conflict while something of it
        runs and is not to be cancelled, or while other jobs depend on it."""

    async def progress(self, tenant_id: int, job: int) -> PurgeView:
        """NotFound when nobody asked for it, or too long ago."""

    async def delete_some(self, job: int | None = None) -> bool:
        """Delete a batch of one purge, or of the one that is named; whether there may be more."""
