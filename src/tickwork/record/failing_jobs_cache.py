"""The jobs that are failing, as this node knows them, so that completing asks the database about no others."""

from tickwork.store.port.record import EventStore

_MOST = 100_000


class FailingJobs:
    def __init__(self, store: EventStore) -> None:
        self._store = store
        self.jobs: frozenset[int] = frozenset()

    async def read(self) -> bool:
        """Read which jobs are failing. A job that completed before this node knew of its failure has recovered, too."""
        known, self.jobs = self.jobs, await self._store.failing_jobs(_MOST)
        new = [job for job in self.jobs if job not in known]
        if new:
            await self._store.mark_completed_since(new)
        return False
