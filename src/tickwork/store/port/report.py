"""What reports about an attempt ask of the store."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionStatus


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
