"""What looking after dead letters asks of the store."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from tickwork.model.dead_letter import DeadLetterFilter, DeadLetterView, Refused
from tickwork.model.execution import ExecutionKey
from tickwork.model.page import Page


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
