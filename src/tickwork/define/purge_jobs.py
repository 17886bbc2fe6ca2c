"""Deletes jobs for good, with everything about them: begun by a request, and gone on with by a loop of every node."""

from collections.abc import Awaitable, Callable
from time import monotonic

from tickwork.loop import Loops
from tickwork.model.access import Author
from tickwork.model.event_after_commit import JobChanged, Publish
from tickwork.model.job import RunningChoice
from tickwork.model.purge_progress import PurgeView
from tickwork.store.port.define import PurgeStore

_AT_ONCE = 1.0  # seconds that a request goes on with it before it answers
_INTERVAL = 5.0


class Purges:
    def __init__(
        self,
        store: PurgeStore,
        number_events: Callable[[], Awaitable[object]],
        publish: Publish,
        until_stopped: Callable[[int, int], Awaitable[None]],
    ) -> None:
        """`number_events`: events are counted when they are numbered, so that is done before they are deleted."""
        self._store = store
        self._number_events = number_events
        self._publish = publish
        self._until_stopped = until_stopped

    def add_loops(self, loops: Loops) -> None:
        loops.add("delete purged jobs", self.delete_some, every=_INTERVAL)

    async def purge(
        self,
        tenant_id: int,
        job: int,
        if_match: int | None = None,
        author: Author | None = None,
        running: RunningChoice = "leave",
    ) -> PurgeView:
        """Cancel the job and delete it, as far as that is possible in a moment. The rest goes on by itself."""
        await self._store.begin(tenant_id, job, author, running, if_match)
        self._publish(JobChanged(tenant_id, job))
        await self._until_stopped(tenant_id, job)
        deadline = monotonic() + _AT_ONCE
        while monotonic() < deadline:
            await self._number_events()
            if not await self._store.delete_some(job):
                break
        return await self.progress(tenant_id, job)

    async def progress(self, tenant_id: int, job: int) -> PurgeView:
        return await self._store.progress(tenant_id, job)

    async def delete_some(self) -> bool:
        """A step of the loop: one batch of the oldest purge."""
        return await self._store.delete_some()
