"""Running a job now, besides its schedule."""

from collections.abc import Callable

from tickwork.model.execution import ExecutionView
from tickwork.model.job import Overlap
from tickwork.store.port.define import RunStore
from tickwork.store.port.read import ReadStore


class Runs:
    def __init__(
        self,
        store: RunStore,
        read: ReadStore,
        work_arrived: Callable[[], None],
        revoked: Callable[[], None],
    ) -> None:
        self._store = store
        self._read = read
        self._work_arrived = work_arrived
        self._revoked = revoked

    async def run(self, tenant_id: int, job: int, overlap: Overlap = "allow") -> ExecutionView:
        """One more execution, due now. What `overlap` says holds for it alone, whatever the job says."""
        scheduled_for = await self._store.run(tenant_id, job, overlap)
        self._work_arrived()
        if overlap == "replace":
            self._revoked()
        return await self._read.execution(tenant_id, job, scheduled_for)
