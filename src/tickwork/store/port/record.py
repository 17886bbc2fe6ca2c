"""What ending executions asks of the store."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from tickwork.model.execution import ExecutionKey
from tickwork.model.protocol import Outcome
from tickwork.store.port.settling import Claimed, Settling


class RecordStore(Protocol):
    async def complete(self, completed: Sequence[tuple[int, Outcome]], leases: Sequence[int]) -> int:
        """End what workers say has completed, and close the leases; how many were still held by whoever says so."""

    def settling(self) -> AbstractAsyncContextManager[Settling]: ...

    async def note_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None: ...

    async def cancel(self, key: ExecutionKey, reason: str) -> None:
        """End it wherever it is, and have its worker told; NotFound, or Conflict when it has ended already."""
