"""Workers as users see and drain them."""

from tickwork.model.access import Caller, Scope
from tickwork.model.field_types import Page
from tickwork.model.worker import EVERY_WORKER, WorkerFilter, WorkerView
from tickwork.store.port.dispatch import RestWorkerStore
from tickwork.store.port.read_jobs_executions_workers import ReadStore


class Workers:
    def __init__(self, read: ReadStore, store: RestWorkerStore) -> None:
        self._read = read
        self._store = store

    async def list(
        self, tenant_id: int, limit: int, cursor: str | None = None, wanted: WorkerFilter = EVERY_WORKER
    ) -> Page[WorkerView]:
        return await self._read.workers(tenant_id, wanted, limit, cursor)

    async def get(self, tenant_id: int, worker: int) -> WorkerView:
        return await self._read.worker(tenant_id, worker)

    async def drain(self, caller: Caller, worker: int) -> WorkerView:
        """Admins drain any worker of their tenant, others those that their own key registered."""
        only_of = None if Scope.ADMIN in caller.scopes else caller.key_id
        await self._store.drain(caller.tenant_id, worker, only_of)
        return await self._read.worker(caller.tenant_id, worker)
