"""Runs a job now, outside its schedule."""

from tickwork.model.event_after_commit import Publish, WorkArrived
from tickwork.model.execution import ExecutionView
from tickwork.model.overlap import Overlap
from tickwork.store.port.define import RunNowStore
from tickwork.store.port.read import ReadStore
from tickwork.wake_loops import Wake


class Runs:
    def __init__(
        self,
        store: RunNowStore,
        read: ReadStore,
        publish: Publish,
        wake: Wake,
    ) -> None:
        self._store = store
        self._read = read
        self._publish = publish
        self._wake = wake

    async def run(self, tenant_id: int, job: int, overlap: Overlap = "allow") -> ExecutionView:
        """Create an execution that is due now. `overlap` replaces the job's overlap policy for this execution only."""
        scheduled_for = await self._store.run(tenant_id, job, overlap)
        self._publish(WorkArrived(tenant_id))
        if overlap == "replace":
            self._wake.revoke()
        return await self._read.execution(tenant_id, job, scheduled_for)
