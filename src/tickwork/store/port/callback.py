"""What is asked of the store about attempts that HTTP targets finish later."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from tickwork.model.execution import ExecutionKey
from tickwork.store.port.record import AttemptState


class CallbackState(NamedTuple):
    """An attempt that an HTTP target reports on, with the execution that it belongs to."""

    key: ExecutionKey
    attempt: AttemptState


class OverdueWait(NamedTuple):
    """An attempt whose HTTP target had no more time to report."""

    key: ExecutionKey
    attempt: int
    lease_id: int
    heartbeat: timedelta | None
    timed_out: bool  # else no heartbeat came
    started_at: datetime | None
    lane_id: int | None
    is_current: bool  # the target has the attempt still


class DuePoll(NamedTuple):
    """An attempt whose status URL is to be asked now."""

    key: ExecutionKey
    attempt: int
    lease_id: int
    status_url: str
    target: bytes  # the HTTP call as JSON
    started_at: datetime | None
    lane_id: int


class CallbackWaitStore(Protocol):
    async def secret(self) -> bytes:
        """What signs the tokens of callbacks: the same on every node."""

    async def state(self, job: int, scheduled_for: datetime, attempt: int) -> CallbackState:
        """NotFound when there is no such execution. `worker_id`: whoever has the attempt, WITH_TARGET or the worker
        that is still waiting for the answer of the target."""

    async def extend(self, key: ExecutionKey, attempt: int) -> datetime | None:
        """Give the target time until its next heartbeat. None if it need not send any, or its time was over."""

    async def deadline(self, key: ExecutionKey, attempt: int) -> tuple[datetime, bool] | None:
        """Until when the target has time, and whether that is over; None if it has no such attempt."""

    async def overdue(self, limit: int) -> list[OverdueWait]: ...

    async def take_due_polls(self, limit: int, within: timedelta) -> list[DuePoll]:
        """Take attempts whose status URLs are to be asked now. They are due again after `within`, unless that is set
        anew before."""

    async def set_next_poll(self, lease_id: int, after: timedelta) -> None: ...

    async def end_revoked(self) -> None:
        """End the waits for executions that were cancelled or replaced."""

    async def close(self, leases: Sequence[int]) -> None:
        """End the waits with these leases."""
