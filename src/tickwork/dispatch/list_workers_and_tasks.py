"""Workers and the tasks that they offer, as users see them."""

import builtins

from tickwork.model.access import Caller, Scope
from tickwork.model.field_types import Page
from tickwork.model.task import TaskView
from tickwork.model.worker import WorkerView
from tickwork.store.port.dispatch import RestWorkerStore
from tickwork.store.port.read_jobs_executions_workers import ReadStore


class Workers:
    def __init__(self, read: ReadStore, store: RestWorkerStore) -> None:
        self._read = read
        self._store = store

    async def list(self, tenant_id: int, limit: int, cursor: str | None = None) -> Page[WorkerView]:
        return await self._read.workers(tenant_id, limit, cursor)

    async def get(self, tenant_id: int, worker: int) -> WorkerView:
        return await self._read.worker(tenant_id, worker)

    async def drain(self, caller: Caller, worker: int) -> WorkerView:
        """Admins drain any worker of their tenant, others those that their own key registered."""
        only_of = None if Scope.ADMIN in caller.scopes else caller.key_id
        await self._store.drain(caller.tenant_id, worker, only_of)
        return await self._read.worker(caller.tenant_id, worker)


class Tasks:
    def __init__(self, read: ReadStore) -> None:
        self._read = read

    async def list(self, tenant_id: int) -> builtins.list[TaskView]:
        return await self._read.tasks(tenant_id)
