"""Retention: what a tenant keeps of its history, and the loop that deletes what jobs, queues and tenants do not keep.

A job of which something cannot be deleted is told of in the log and passed over, so that it does not stop the others.
"""

from collections.abc import Sequence

import structlog
from prometheus_client import Counter

from tickwork.loop import Loops
from tickwork.model.errors import Invalid, Unavailable
from tickwork.model.public_ids import job_id
from tickwork.model.retention import Retention, TenantRetention, retention_errors
from tickwork.store.port.retention import JobToLookAt, RetentionStore

_INTERVAL = 60  # seconds between looks for something to do
_LONG_STEP = 600.0  # seconds: a step may delete many rows
_DELETED = Counter(
    "tickwork_retention_deleted_total", "Executions that were deleted because their job keeps no more."
)
_FAILURES = Counter(
    "tickwork_retention_failures_total", "Jobs whose history could not be shortened, each time it was tried."
)
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class Retentions:
    def __init__(self, store: RetentionStore, history_days: int) -> None:
        self._store = store
        self._history_days = history_days
        self._unfinished: Sequence[JobToLookAt] = ()  # jobs that have more to delete

    def add_loops(self, loops: Loops) -> None:
        loops.add("apply retention", self.apply, every=_INTERVAL, stuck_after=_LONG_STEP)

    async def get(self, tenant_id: int) -> TenantRetention:
        view = await self._store.get(tenant_id)
        return TenantRetention(age=view.age, last=view.last, history_days=self._history_days)

    async def set(self, tenant_id: int, retention: Retention) -> TenantRetention:
        """One that says nothing takes away what was said before."""
        if retention != Retention() and (errors := list(retention_errors(retention, path=""))):
            raise Invalid(errors)
        await self._store.set(tenant_id, retention.view())
        return await self.get(tenant_id)

    async def apply(self) -> bool:
        """Look at some jobs: those that have more to delete, or the next ones. Whether there are more."""
        jobs, more = self._unfinished, True
        if not jobs:
            jobs, more = await self._store.take_jobs()
        self._unfinished = await self._delete(jobs)
        return more or bool(self._unfinished)

    async def _delete(self, jobs: Sequence[JobToLookAt]) -> Sequence[JobToLookAt]:
        """The jobs that have more to delete."""
        if not jobs:
            return ()
        try:
            gone = await self._store.delete_beyond(jobs)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 (whatever is wrong with one job, the others go on)
            return await self._delete_without(jobs, error)
        _DELETED.inc(gone.deleted)
        return gone.unfinished

    async def _delete_without(self, jobs: Sequence[JobToLookAt], error: Exception) -> Sequence[JobToLookAt]:
        """Find the job that fails by halves."""
        if len(jobs) > 1:
            half = len(jobs) // 2
            return [*await self._delete(jobs[:half]), *await self._delete(jobs[half:])]
        _FAILURES.inc()
        _log.error("history cannot be shortened", job=job_id(jobs[0].id), error=str(error))
        return ()
