"""Executions as users see them, past and future, and how they are cancelled."""

import builtins
from datetime import datetime

import msgspec

from tickwork.execution_metrics import ENDED
from tickwork.model.execution import (
    AttemptView,
    CountKind,
    ExecutionFilter,
    ExecutionKey,
    ExecutionPage,
    ExecutionView,
    MissedView,
)
from tickwork.store.port.read import ExecutionSearch, ReadStore
from tickwork.store.port.record import OutcomeStore
from tickwork.wake_loops import Wake


class ExecutionHistory:
    def __init__(self, store: OutcomeStore, read: ReadStore, search: ExecutionSearch, wake: Wake) -> None:
        self._store = store
        self._read = read
        self._search = search
        self._wake = wake

    async def list(
        self,
        tenant_id: int,
        wanted: ExecutionFilter,
        limit: int,
        cursor: str | None = None,
        count: CountKind | None = None,
    ) -> ExecutionPage:
        page = await self._search.page(tenant_id, wanted, limit, cursor)
        if count is None:
            return page
        return msgspec.structs.replace(page, count=await self._search.count(tenant_id, wanted, count))

    async def get(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView:
        return await self._read.execution(tenant_id, job, scheduled_for)

    async def attempts(self, tenant_id: int, job: int, scheduled_for: datetime) -> builtins.list[AttemptView]:
        return await self._read.attempts(tenant_id, job, scheduled_for)

    async def missed(self, tenant_id: int, job: int, limit: int) -> builtins.list[MissedView]:
        await self._read.jobs_by_id(tenant_id, [job])
        return await self._read.missed(tenant_id, job, limit)

    async def cancel(self, tenant_id: int, job: int, scheduled_for: datetime) -> ExecutionView:
        """End it now. The attempt of a worker that has it is revoked, and its outcome is refused."""
        await self._store.cancel(ExecutionKey(tenant_id, scheduled_for, job), "cancelled by request")
        ENDED.labels("cancelled").inc()
        self._wake.revoke()
        return await self._read.execution(tenant_id, job, scheduled_for)
