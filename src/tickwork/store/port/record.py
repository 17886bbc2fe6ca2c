"""What the record stage asks of the store: outcomes, logs, reports of REST workers, dead letters."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from tickwork.model.attempt_log import LogEntry, Position
from tickwork.model.dead_letter import DeadLetterFilter, DeadLetterView, Refused
from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionStatus, Progress
from tickwork.model.execution_lifecycle import LockedExecution, Transition
from tickwork.model.page import Page
from tickwork.model.worker_protocol import LogLine, Outcome


class Claimed(NamedTuple):
    """Which attempt somebody believes to hold."""

    key: ExecutionKey
    worker_id: int
    attempt: int | None  # None: whichever this worker holds


class AttemptNote(NamedTuple):
    """An attempt that did not complete, for the history."""

    key: ExecutionKey
    attempt: int
    outcome: AttemptOutcome
    worker_id: int | None
    started_at: datetime | None
    finished_at: datetime
    error: bytes | None = None


class AttemptEnding(Protocol):
    """One transaction that decides about attempts which did not complete."""

    async def lock(self, claimed: Sequence[Claimed]) -> list[LockedExecution]:
        """Those that are still in the hands they are believed in."""

    async def settle(self, verdicts: Sequence[Transition], notes: Sequence[AttemptNote]) -> None: ...

    async def note_cancelled(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        """When these began, of those that were cancelled while this was not known."""

    async def close_leases(self, leases: Sequence[int]) -> None: ...


class RecordStore(Protocol):
    async def complete(self, completed: Sequence[tuple[int, Outcome]], leases: Sequence[int]) -> int:
        """End what workers say has completed, and close the leases; how many were still held by whoever says so."""

    def settling(self) -> AbstractAsyncContextManager[AttemptEnding]: ...

    async def note_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None: ...

    async def cancel(self, key: ExecutionKey, reason: str) -> None:
        """End it wherever it is, and have its worker told; NotFound, or Conflict when it has ended already."""


class Logged(NamedTuple):
    """Lines that an attempt logged, numbered from `first` on."""

    key: ExecutionKey
    attempt: int
    first: int
    lines: Sequence[LogLine]


class ProgressNote(NamedTuple):
    claimed: Claimed
    progress: Progress
    started_at: datetime | None  # when it began, if that was said


class Standing(NamedTuple):
    """How an execution stands, for those who follow its log."""

    status: ExecutionStatus
    attempt: int
    progress: Progress | None
    end: Position  # of its log
    ended_for: timedelta | None  # None while it has not ended


class LogStore(Protocol):
    async def keep(self, logged: Sequence[Logged]) -> None:
        """Those lines that are not kept already; of each attempt only the newest are."""

    async def set_progress(self, notes: Sequence[ProgressNote]) -> list[ProgressNote]:
        """Of attempts that still run; gives those that have to be said again because somebody was in the way."""

    async def lines(self, key: ExecutionKey, begin: Position, limit: int) -> list[LogEntry]: ...

    async def page(
        self, key: ExecutionKey, attempt: int | None, limit: int, cursor: str | None
    ) -> Page[LogEntry]: ...

    async def last_lines(self, key: ExecutionKey, attempt: int | None, count: int) -> list[LogEntry]: ...

    async def standing(self, key: ExecutionKey) -> Standing | None: ...


class AttemptStanding(NamedTuple):
    """How an attempt stands that somebody reports on."""

    status: ExecutionStatus
    attempt: int  # at which the execution is
    worker_id: int | None  # that holds the attempt and speaks plain REST; None: no such one
    started_at: datetime | None
    reason: str | None
    outcome: AttemptOutcome | None  # what became of the attempt
    leases: Sequence[int]
    is_foreign: bool  # in the hands of a worker that another key registered


class ReportStore(Protocol):
    async def standing(self, key: ExecutionKey, attempt: int, key_id: int) -> AttemptStanding:
        """NotFound when there is no such execution."""

    async def begin(self, key: ExecutionKey, attempt: int, key_id: int) -> bool:
        """Note that the attempt has begun; whether a worker holds it that speaks plain REST, and was registered with
        that API key."""

    async def let_go(self, key: ExecutionKey, attempt: int, key_id: int, standing: AttemptStanding) -> None:
        """Nothing of an attempt that has ended is in anybody's hands any more, nor to be stopped."""


class OldestDeadLetters(NamedTuple):
    keys: list[ExecutionKey]
    next_cursor: str | None


class Revived(NamedTuple):
    revived: int
    missing: list[ExecutionKey]  # not dead letters, or not any more
    refused: list[Refused]


class DeadLetterStore(Protocol):
    async def newest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> Page[DeadLetterView]: ...

    async def oldest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> OldestDeadLetters: ...

    async def last_of_job(self, tenant_id: int, job: int) -> datetime | None:
        """The due time of the one that failed last."""

    async def redrive(
        self, tenant_id: int, keys: Sequence[ExecutionKey], start_at: datetime, interval: timedelta
    ) -> Revived:
        """Those that are dead letters wait to be run again, one after the other; refused are those whose job is
        cancelled."""

    async def discard(self, tenant_id: int, keys: Sequence[ExecutionKey]) -> list[ExecutionKey]:
        """They are no dead letters any more; those that were none."""

    async def retry(self, key: ExecutionKey) -> None:
        """NotFound, or Conflict when it did not end as failed or cancelled, or its job is cancelled."""
