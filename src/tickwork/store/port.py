"""What the stages ask of the store: values in, values out, one transaction per intention.

The stages know only this file. Every method raises `Unavailable` when the database cannot be reached; whoever
calls may simply call again, because repeating any of them changes nothing that was already done.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from tickwork.model.backfill import BackfillRequest, BackfillView, Policy
from tickwork.model.execution import (
    AttemptOutcome,
    AttemptView,
    ExecutionFilter,
    ExecutionKey,
    ExecutionView,
    MissedView,
)
from tickwork.model.job import JobFilter, JobSpec, JobStatus, JobView, Overlap
from tickwork.model.lifecycle import Held, Verdict
from tickwork.model.page import Page
from tickwork.model.protocol import Hello
from tickwork.model.worker import TaskView, WorkerView

Cursor = tuple[int, int]  # (priority, job): how far a round has been fired
NOT_BEGUN: Cursor = (-1, 0)


class DueRule(NamedTuple):
    id: int
    timing: str
    catch_up: str
    next_at: datetime
    last_at: datetime | None
    cursor: Cursor | None
    now: datetime


class Round(NamedTuple):
    """One due time of one rule, being fired from the cursor on."""

    rule_id: int
    scheduled_for: datetime
    last_at: datetime | None
    cursor: Cursor


class RuleStep(NamedTuple):
    """Where a rule stands after a chunk."""

    rule_id: int
    next_at: datetime | None
    last_at: datetime | None
    cursor: Cursor | None
    looks_empty: bool  # no job was found: let it sleep if there really is none


class RoundNote(NamedTuple):
    """What became of a due time, or of a range of them that nobody ran."""

    rule_id: int
    scheduled_for: datetime
    missed: int = 0
    missed_until: datetime | None = None
    reason: str | None = None


class Work(NamedTuple):
    """One execution that could be handed to a worker, with all that is needed to run it."""

    tenant_id: int
    scheduled_for: datetime
    job_id: int
    lane_id: int
    attempt: int
    ready_at: datetime
    task: str
    payload: bytes
    target: bytes | None
    timeout: float


class Candidate(NamedTuple):
    """A job whose due time is being fired."""

    round_number: int
    priority: int
    work: Work
    overlap: Overlap
    blocked_by: datetime | None  # its execution that has not ended, when they must not overlap
    queued: int  # executions of it that wait for one another


class Seat(NamedTuple):
    """A worker on one of this node's connections."""

    worker_id: int
    connection: int


class Lane(NamedTuple):
    id: int
    tenant_id: int
    queue: str
    task: str


class Registration(NamedTuple):
    worker_id: int
    connection: int


class HeldWork(NamedTuple):
    lease_id: int
    work: Work


class Revocation(NamedTuple):
    worker_id: int
    key: ExecutionKey
    attempt: int
    reason: str


class Completion(NamedTuple):
    """An attempt that completed, by whoever held it."""

    key: ExecutionKey
    worker_id: int
    attempt: int
    started_at: datetime
    finished_at: datetime
    result: bytes | None


class AttemptNote(NamedTuple):
    """An attempt that did not complete, for the history."""

    key: ExecutionKey
    attempt: int
    outcome: AttemptOutcome
    worker_id: int | None
    started_at: datetime | None
    finished_at: datetime
    error: bytes | None = None


class Claimed(NamedTuple):
    """Which attempt somebody believes to hold."""

    key: ExecutionKey
    worker_id: int
    attempt: int | None  # None: whichever this worker holds


class Collision(Exception):
    """Some due time that is being fired has an execution already."""


class Handing(Protocol):
    """The part of a transaction that puts executions into workers' hands."""

    async def hold(self, seats: Sequence[Seat]) -> set[int]:
        """The workers that may be handed work on these connections, fixed until the commit."""

    async def lease(self, works: Sequence[Work], workers: Sequence[int | None]) -> dict[int, int]:
        """Note what each worker is handed; the lease of each worker."""


class Firing(Handing, Protocol):
    """One transaction that fires chunks of due rules."""

    async def take(self, lead: timedelta, late: timedelta, limit: int) -> list[DueRule]:
        """Up to so many rules that are late by that much, and as many that are not."""

    async def pick(self, rounds: Sequence[Round], chunk: int) -> list[Candidate]: ...

    async def cancel_blockers(self, candidates: Sequence[Candidate]) -> None:
        """End what these replace, wherever it is."""

    async def insert(
        self, candidates: Sequence[Candidate], workers: Sequence[int | None], reasons: Sequence[str | None]
    ) -> None:
        """Those with a reason are skipped for it; a blocked one without waits for its turn. Collision when a due
        time has an execution already; then the transaction is over."""

    async def insert_carefully(self, candidates: Sequence[Candidate]) -> None:
        """Leave executions that exist, except those that were stopped before their time."""

    async def advance(self, steps: Sequence[RuleStep], notes: Sequence[RoundNote]) -> None: ...


class TriggerStore(Protocol):
    def firing(self) -> AbstractAsyncContextManager[Firing]: ...

    async def zone_data(self) -> str | None:
        """The version of the time zone data that the timers were computed with."""

    async def set_zone_data(self, version: str) -> None: ...

    async def retime(
        self, after: int, lead: timedelta, limit: int, next_at: Callable[[str, datetime], datetime | None]
    ) -> int | None:
        """Compute anew when some rules are due next, given their timing and from when on; where to go on."""

    async def release_queued(self, limit: int) -> int:
        """Let those go on whose turn has come; how many."""

    async def promote_held(self, until: datetime, limit: int) -> int:
        """Give one-time jobs due before that their executions; how many."""


class Claiming(Handing, Protocol):
    """One transaction that hands out waiting executions."""

    async def pick(self, rooms: dict[int, int], lead: timedelta) -> list[Work]: ...

    async def claim(self, works: Sequence[Work], workers: Sequence[int]) -> None: ...


class Settling(Protocol):
    """One transaction that decides about attempts which did not complete."""

    async def lock(self, claimed: Sequence[Claimed]) -> list[Held]:
        """Those that are still in the hands they are believed in."""

    async def settle(self, verdicts: Sequence[Verdict], notes: Sequence[AttemptNote]) -> None: ...

    async def close_leases(self, leases: Sequence[int]) -> None: ...


class Rescuing(Settling, Protocol):
    """One transaction that takes work out of dead workers' hands."""

    async def take_dead(self, limit: int) -> list[int]: ...

    async def take_leases(self, workers: Sequence[int], limit: int) -> list[Claimed]: ...

    async def end(self, workers: Sequence[int]) -> None: ...


class DispatchStore(Protocol):
    async def lanes_after(self, lane_id: int) -> list[Lane]: ...

    def claiming(self) -> AbstractAsyncContextManager[Claiming]: ...

    def rescuing(self) -> AbstractAsyncContextManager[Rescuing]: ...

    async def register(
        self, tenant_id: int | None, hello: Hello, token: bytes, lease: timedelta
    ) -> Registration: ...

    async def resume(self, tenant_id: int | None, token: bytes, lease: timedelta) -> Registration | None: ...

    async def held_by(self, worker_id: int) -> list[HeldWork]: ...

    async def renew(self, workers: Sequence[int], lease: timedelta) -> set[int]: ...

    async def drain(self, worker_id: int) -> None: ...

    async def leave(self, worker_id: int) -> None: ...

    async def revocations(self, workers: Sequence[int]) -> list[Revocation]: ...

    async def forget_revocations(self, revocations: Sequence[Revocation]) -> None: ...

    async def is_being_stopped(self, tenant_id: int, job: int) -> bool:
        """Whether some worker has yet to stop an execution of this job."""


class RecordStore(Protocol):
    async def complete(self, completions: Sequence[Completion], leases: Sequence[int]) -> int:
        """End them and close the leases; how many were still held by whoever says so."""

    def settling(self) -> AbstractAsyncContextManager[Settling]: ...

    async def note_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None: ...

    async def cancel(self, key: ExecutionKey, reason: str) -> None:
        """End it wherever it is, and have its worker told; NotFound, or Conflict when it has ended already."""


class Definition(NamedTuple):
    """A job as it was defined, and which version that is."""

    document: dict[str, Any]
    version: int


class DefineStore(Protocol):
    async def find_tasks(self, tenant_id: int, names: set[str]) -> dict[str, str]:
        """The parameter schemas of those tasks that some worker has offered."""

    async def task_names(self, tenant_id: int) -> list[str]: ...

    async def create(self, tenant_id: int, specs: Sequence[JobSpec]) -> list[int]:
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


class ReadStore(Protocol):
    async def now(self) -> datetime: ...

    async def jobs_by_id(self, tenant_id: int, jobs: Sequence[int]) -> list[JobView]:
        """In the order asked for; NotFound when one is not this tenant's."""

    async def jobs(
        self, tenant_id: int, wanted: JobFilter, limit: int, cursor: str | None
    ) -> Page[JobView]: ...

    async def execution(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView: ...

    async def executions(
        self, tenant_id: int, wanted: ExecutionFilter, limit: int, cursor: str | None
    ) -> Page[ExecutionView]: ...

    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime) -> list[AttemptView]: ...

    async def missed(self, tenant_id: int, job: int, limit: int) -> list[MissedView]: ...

    async def workers(self, tenant_id: int, limit: int, cursor: str | None) -> Page[WorkerView]: ...

    async def worker(self, tenant_id: int, worker: int) -> WorkerView: ...

    async def tasks(self, tenant_id: int) -> list[TaskView]: ...
