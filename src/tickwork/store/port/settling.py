"""What deciding about attempts that did not complete asks of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from tickwork.model.execution import AttemptOutcome, ExecutionKey
from tickwork.model.lifecycle import Held, Verdict


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


class Settling(Protocol):
    """One transaction that decides about attempts which did not complete."""

    async def lock(self, claimed: Sequence[Claimed]) -> list[Held]:
        """Those that are still in the hands they are believed in."""

    async def settle(self, verdicts: Sequence[Verdict], notes: Sequence[AttemptNote]) -> None: ...

    async def note_cancelled(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        """When these began, of those that were cancelled while this was not known."""

    async def close_leases(self, leases: Sequence[int]) -> None: ...
