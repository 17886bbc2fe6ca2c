"""Retries or cancels many executions: those of a filter, chunk by chunk, or those that are named."""

from collections.abc import Sequence
from functools import partial

from tickwork.model.bulk_action import BulkChunk, BulkCount, ExecutionAction, act_on_each
from tickwork.model.execution import ExecutionFilter
from tickwork.model.public_ids import parse_execution_id
from tickwork.record.dead_letters import DeadLetters
from tickwork.record.list_cancel_and_await_executions import ExecutionHistory


class BulkExecutions:
    def __init__(self, history: ExecutionHistory, dead_letters: DeadLetters) -> None:
        self._history = history
        self._dead_letters = dead_letters

    async def count_matching(self, tenant_id: int, wanted: ExecutionFilter) -> BulkCount:
        count = (await self._history.list(tenant_id, wanted, 1, count="exact")).count
        return BulkCount(count.value, count.kind == "exact") if count else BulkCount(0, exact=True)

    async def count_named(self, tenant_id: int, ids: Sequence[str]) -> BulkCount:
        found = await act_on_each(ids, str, partial(self._existing, tenant_id))
        return BulkCount(found.done, exact=True)

    async def change_matching(
        self, tenant_id: int, action: ExecutionAction, wanted: ExecutionFilter, limit: int, cursor: str | None
    ) -> BulkChunk:
        """Change one chunk, in the order of the list: by due time, latest first."""
        page = await self._history.list(tenant_id, wanted, limit, cursor)
        ids = [execution.id for execution in page.items]
        return await act_on_each(ids, str, partial(self._change, tenant_id, action), page.next_cursor)

    async def change_named(self, tenant_id: int, action: ExecutionAction, ids: Sequence[str]) -> BulkChunk:
        return await act_on_each(ids, str, partial(self._change, tenant_id, action))

    async def _existing(self, tenant_id: int, name: str) -> None:
        await self._history.get(tenant_id, *parse_execution_id(name))

    async def _change(self, tenant_id: int, action: ExecutionAction, name: str) -> None:
        job, scheduled_for = parse_execution_id(name)
        if action == "retry":
            await self._dead_letters.retry(tenant_id, job, scheduled_for)
        else:
            await self._history.cancel(tenant_id, job, scheduled_for)
