"""What the record stage asks of the store about retention."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol

from tickwork.model.retention import RetentionView


class JobToLookAt(NamedTuple):
    """A job with the retention that counts for it."""

    tenant_id: int
    id: int
    repeats: bool  # false: it is due one time
    age: timedelta | None
    last: int | None


class JobsToLookAt(NamedTuple):
    jobs: Sequence[JobToLookAt]
    more: bool  # jobs are left in this pass


class Gone(NamedTuple):
    deleted: int  # executions
    unfinished: Sequence[JobToLookAt]  # jobs that have more to delete


class RetentionStore(Protocol):
    async def get(self, tenant_id: int) -> RetentionView: ...

    async def set(self, tenant_id: int, retention: RetentionView) -> None: ...

    async def take_jobs(self) -> JobsToLookAt:
        """The next jobs that have a retention. No other node gets them in this pass."""

    async def delete_beyond(self, jobs: Sequence[JobToLookAt]) -> Gone:
        """Delete some of what is beyond their retention."""
