"""Executions that wait: for their day, for an earlier execution of their job, or for parents.

Each step handles one batch in one transaction and returns whether there may be more.
"""

from collections.abc import Callable
from datetime import datetime

from tickwork.loop import Loops, Wake
from tickwork.store.port.trigger import DependencyStore, MakeDays, TriggerStore

_BATCH = 1000
_RELEASE_INTERVAL = 0.2  # seconds


class WaitingExecutions:
    def __init__(
        self,
        store: TriggerStore,
        dependencies: DependencyStore,
        horizon: Callable[[], datetime],
        make_days_for: MakeDays,
        wake: Wake,
    ) -> None:
        """`horizon`: executions due before it can be stored."""
        self._store = store
        self._dependencies = dependencies
        self._horizon = horizon
        self._make_days_for = make_days_for
        self._wake = wake

    def add_loops(self, loops: Loops) -> None:
        loops.add("release queued", self.release_queued, every=_RELEASE_INTERVAL, only_with_work=True)
        loops.add("give up unstarted", self.give_up_unstarted, every=1)
        loops.add("create deferred", self.create_deferred, every=5)
        loops.add("skip rounds", self.skip_rounds_without_parents, every=1, only_with_work=True)

    async def release_queued(self) -> bool:
        """Release executions (`overlap: queue`) for which the earlier execution has ended."""
        released = await self._store.release_queued(_BATCH)
        if released:
            self._wake.claim()
        return released == _BATCH

    async def give_up_unstarted(self) -> bool:
        """Skip executions that have waited for too long to be useful (`start_within`)."""
        return await self._store.give_up_unstarted(_BATCH) == _BATCH

    async def create_deferred(self) -> bool:
        """Create the executions of deferred jobs that are due before the horizon."""
        return await self._store.promote_deferred(self._horizon(), _BATCH, self._make_days_for) == _BATCH

    async def create_overdue(self, now: datetime) -> bool:
        """Create the executions of deferred jobs that were due before now, however far the partitions reach."""
        return await self._store.promote_deferred(now, _BATCH, self._make_days_for) == _BATCH

    async def skip_rounds_without_parents(self) -> bool:
        """Skip executions of child jobs in rounds in which their parents are not due."""
        return await self._dependencies.skip_rounds_without_parents(_BATCH) == _BATCH
