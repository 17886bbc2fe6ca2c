"""What the record stage asks of the store: outcomes, logs, reports of REST workers, dead letters."""

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from operator import sub
from typing import NamedTuple, Protocol, TypeAlias

from tickwork.model.attempt_log import LogEntry, Position
from tickwork.model.dead_letter import DeadLetterFilter, DeadLetterView, Refused
from tickwork.model.error_group import ErrorGroupView
from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionStatus, Progress
from tickwork.model.field_types import Page
from tickwork.model.overdue_attempt import OverdueAttempt
from tickwork.model.past_attempt_input import ExecutionInput, RetryPayload
from tickwork.model.process_limits import Usage
from tickwork.model.stream_event import EventKind, NumberedEvent
from tickwork.model.transition_after_attempt import LockedExecution, Transition
from tickwork.model.worker_protocol import Accepted, LogLine, Micros, Outcome
from tickwork.store.port.notify import ToldCompletion


class Claimed(NamedTuple):
    """The attempt that a worker is believed to have."""

    key: ExecutionKey
    worker_id: int
    attempt: int | None  # None: whichever this worker has


class AttemptNote(NamedTuple):
    """A record of an attempt that did not complete, for the history."""

    key: ExecutionKey
    attempt: int
    outcome: AttemptOutcome
    worker_id: int | None
    started_at: datetime | None
    finished_at: datetime
    error: bytes | None = None
    fingerprint: int | None = None  # of the cause of a failure


class AttemptEnding(Protocol):
    """One transaction that ends attempts which did not complete."""

    async def lock(self, claimed: Sequence[Claimed]) -> list[LockedExecution]:
        """Those of the executions that their workers still have."""

    async def settle(self, transitions: Sequence[Transition], notes: Sequence[AttemptNote]) -> None: ...

    async def give_to_targets(self, accepted: Sequence[tuple[LockedExecution, Outcome, Accepted]]) -> None:
        """Their HTTP targets have these from now on."""

    async def note_cancelled(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        """Record when attempts started that were cancelled before their start was known."""

    async def close_leases(self, leases: Sequence[int]) -> None: ...

    async def stop(self, executions: Sequence[LockedExecution], leases: Sequence[int]) -> None:
        """Tell the workers of attempts that have just been ended to stop them. `leases`: which they were part of;
        those of which nothing is left are closed."""


class CheckedLeases(NamedTuple):
    """What was found when a node looked at leases that have lasted."""

    looked_at: int
    overdue: Sequence[OverdueAttempt]


class UnendedExecution(NamedTuple):
    """An execution that is due, has a deadline and has not ended."""

    key: ExecutionKey
    lane_id: int
    deadline: datetime
    started_at: datetime | None  # None: it waits
    timeout: timedelta
    now: datetime


class EndangeredExecution(NamedTuple):
    """One that is going to miss its deadline."""

    key: ExecutionKey
    lane_id: int
    detail: str  # JSON


class DeadlineStore(Protocol):
    async def unended(self, limit: int) -> list[UnendedExecution]:
        """Up to `limit` that wait, and as many that run."""

    async def usual_run_times(self, jobs: Collection[tuple[int, int]]) -> dict[int, timedelta]:
        """Of jobs, given with their tenants, that have completed lately."""

    async def tell_endangered(self, endangered: Sequence[EndangeredExecution]) -> list[ExecutionKey]:
        """Write their events, once however many nodes do so. Returns those that have not ended meanwhile."""


class TimeLimitStore(Protocol):
    async def check_leases(self, limit: int) -> CheckedLeases:
        """Look at up to `limit` leases, and write the events of attempts that became slow. Another node that looks at
        the same time finds others."""


Reported: TypeAlias = tuple[
    int, Outcome, int
]  # by a worker: its number, the outcome, and the lane of the execution


class CompletedColumns(NamedTuple):
    """Outcomes of executions that completed, as columns: each is read once, by all that write and count them."""

    workers: Sequence[int]
    outcomes: Sequence[Outcome]
    lanes: Sequence[int]
    due: Sequence[Micros]
    attempts: Sequence[int]
    started: Sequence[Micros]
    finished: Sequence[Micros]
    start_delays: Sequence[int]  # from the due time, in microseconds
    run_times: Sequence[int]
    last_finished: Micros
    longest: int  # at most so long from the due time of any to its end

    @classmethod
    def of(cls, reported: Sequence[Reported]) -> "CompletedColumns":
        """There is at least one."""
        return cls.make(*zip(*reported, strict=True))

    @classmethod
    def make(
        cls, workers: Sequence[int], outcomes: Sequence[Outcome], lanes: Sequence[int]
    ) -> "CompletedColumns":
        due = [outcome.at for outcome in outcomes]
        attempts = [outcome.attempt for outcome in outcomes]
        started = [outcome.started for outcome in outcomes]
        finished = [outcome.finished for outcome in outcomes]
        delays, run_times = [*map(sub, started, due)], [*map(sub, finished, started)]
        last = max(finished)
        longest = last - min(due)
        return cls(
            workers, outcomes, lanes, due, attempts, started, finished, delays, run_times, last, longest
        )


class OutcomeStore(Protocol):
    async def complete(
        self,
        completed: CompletedColumns,
        leases: Sequence[int],
        failing: Collection[int],
        heartbeats: Collection[int],
        told: Sequence[ToldCompletion],
    ) -> int:
        """Complete executions and close leases. Returns how many of the workers still had their execution. `failing`:
        jobs that are failing, as far as is known; they recover when an execution of theirs completes. `heartbeats`:
        jobs with a heartbeat URL, which is to be called then. `told`: those of which somebody is told."""

    def settling(self) -> AbstractAsyncContextManager[AttemptEnding]: ...

    async def note_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None: ...

    async def cancel(self, key: ExecutionKey, reason: str) -> None:
        """Cancel an execution, also when a worker has it. NotFound, or Conflict when it has ended already."""


class NewEvent(NamedTuple):
    """An event that is about to be written."""

    tenant_id: int
    kind: EventKind
    job_id: int | None = None
    scheduled_for: datetime | None = None
    lane_id: int | None = None
    attempt: int | None = None
    error_type: str | None = None
    fingerprint: int | None = None
    detail: str | None = None  # JSON


class EventStore(Protocol):
    async def number(self, limit: int) -> Counter[str]:
        """Number events that were committed. Returns how many of each kind; none while another node does so."""

    async def last_number(self) -> int: ...

    async def events_after(self, number: int, limit: int) -> list[NumberedEvent]: ...

    async def events_of(self, tenant_id: int, after: int, until: int, limit: int) -> list[NumberedEvent]: ...

    async def events_before(self, tenant_id: int, number: int, limit: int) -> list[NumberedEvent]:
        """Latest first."""

    async def delete_old(self, older_than: timedelta) -> bool:
        """Delete some old events. Returns whether there may be more."""

    async def failing_jobs(self, limit: int) -> frozenset[int]: ...

    async def mark_completed_since(self, jobs: Sequence[int]) -> None:
        """Those of the failing jobs of which an execution completed after the last failure have recovered."""

    async def want_pulse(self, tenants: Collection[int], seconds: float) -> None:
        """Ask all nodes for the pulse of these tenants for a while."""

    async def wanted_pulse(self) -> frozenset[int]:
        """The tenants whose pulse is followed on some node."""

    async def write_pulse(self, tenant_id: int, ended: Sequence[Outcome], left_out: int) -> None: ...

    async def last_pulse(self) -> int: ...

    async def pulse_after(self, place: int, tenants: Collection[int]) -> tuple[int, list[NumberedEvent]]:
        """The pulse of these tenants after a place, and the place of the last of it."""


class Logged(NamedTuple):
    """Lines that an attempt logged, numbered from `first` on."""

    key: ExecutionKey
    attempt: int
    first: int
    lines: Sequence[LogLine]


class ProgressNote(NamedTuple):
    claimed: Claimed
    progress: Progress
    started_at: datetime | None  # if the worker reported it


class UsageNote(NamedTuple):
    """What the process of an attempt has used."""

    key: ExecutionKey
    attempt: int
    usage: Usage


class LogState(NamedTuple):
    """The state of an execution, for clients that follow its log."""

    status: ExecutionStatus
    attempt: int
    progress: Progress | None
    end: Position  # of its log
    ended_for: timedelta | None  # None while it has not ended


class LogStore(Protocol):
    async def keep(self, logged: Sequence[Logged]) -> None:
        """Store the lines that are not stored already. Only the newest lines of each attempt are kept."""

    async def keep_usage(self, used: Sequence[UsageNote]) -> None:
        """Store what is not stored already."""

    async def set_progress(self, notes: Sequence[ProgressNote]) -> list[ProgressNote]:
        """Record the progress of running attempts. Returns what to repeat, because its execution was locked."""

    async def lines(self, key: ExecutionKey, begin: Position, limit: int) -> list[LogEntry]: ...

    async def page(
        self, key: ExecutionKey, attempt: int | None, limit: int, cursor: str | None
    ) -> Page[LogEntry]: ...

    async def last_lines(self, key: ExecutionKey, attempt: int | None, count: int) -> list[LogEntry]: ...

    async def state(self, key: ExecutionKey) -> LogState | None: ...


class AttemptState(NamedTuple):
    """The state of an attempt that a REST worker reports on."""

    status: ExecutionStatus
    attempt: int  # the present attempt of the execution
    worker_id: int | None  # the REST worker that has the attempt, if one has
    started_at: datetime | None
    reason: str | None
    outcome: AttemptOutcome | None  # of the reported attempt
    leases: Sequence[int]
    lane_id: int
    is_foreign: bool  # the worker was registered with another API key


class RestWorkerReportStore(Protocol):
    async def state(self, key: ExecutionKey, attempt: int, key_id: int) -> AttemptState:
        """NotFound when there is no such execution."""

    async def begin(self, key: ExecutionKey, attempt: int, key_id: int) -> bool:
        """Record that the attempt started. Returns whether a REST worker that this API key registered has it."""

    async def release_ended(self, key: ExecutionKey, attempt: int, key_id: int, state: AttemptState) -> None:
        """Delete the leases and the revocation of an attempt that has ended."""


class ErrorGroupStore(Protocol):
    async def page(
        self, tenant_id: int, task: str | None, error: str | None, limit: int, cursor: str | None
    ) -> Page[ErrorGroupView]:
        """The cause seen last first."""

    async def group(self, tenant_id: int, fingerprint: int) -> ErrorGroupView | None: ...


class OldestDeadLetters(NamedTuple):
    keys: list[ExecutionKey]
    next_cursor: str | None


class Revived(NamedTuple):
    revived: int
    missing: list[ExecutionKey]  # those that are not dead letters
    refused: list[Refused]


class DeadLetterStore(Protocol):
    async def newest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> Page[DeadLetterView]: ...

    async def oldest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> OldestDeadLetters: ...

    async def last_of_job(self, tenant_id: int, job: int) -> datetime | None:
        """The due time of the job's latest dead letter."""

    async def redrive(
        self, tenant_id: int, keys: Sequence[ExecutionKey], start_at: datetime, interval: timedelta
    ) -> Revived:
        """Make dead letters run again, one `interval` apart. Refuses those whose job is cancelled."""

    async def discard(self, tenant_id: int, keys: Sequence[ExecutionKey]) -> list[ExecutionKey]:
        """Discard dead letters. Returns the keys that were none."""

    async def retry(self, key: ExecutionKey, payload: RetryPayload | None = None) -> None:
        """With a payload, if one is given. NotFound, or Conflict when it did not end as failed or cancelled, or its job
        is cancelled."""


class InputStore(Protocol):
    async def input_of(self, key: ExecutionKey, attempt: int | None) -> ExecutionInput:
        """What an attempt ran with, or the latest one if none is given."""
