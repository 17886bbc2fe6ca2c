"""Tasks: what is known of them, and whether they are disabled or retired."""

from datetime import timedelta

import msgspec

from tickwork.model.errors import NotFound
from tickwork.model.task import TaskDeclaration, TaskView
from tickwork.store.pool import Database
from tickwork.store.port.task import RetiredTask
from tickwork.store.query_files import queries
from tickwork.store.row_views import task_of
from tickwork.store.unchecked_payload_store import check_again

_INDEX_DELAY = timedelta(minutes=1)  # after which a new job is certainly in the index of jobs


class PostgresTaskStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("task")

    async def tasks(self, tenant_id: int) -> list[TaskView]:
        return [task_of(row) for row in await self._database.fetch(self._sql["tasks"], tenant_id, None)]

    async def task(self, tenant_id: int, name: str) -> TaskView:
        row = await self._database.fetchrow(self._sql["tasks"], tenant_id, name)
        if row is None:
            raise NotFound("task", name)
        return task_of(row)

    async def declare(self, tenant_id: int, name: str, declaration: TaskDeclaration) -> bool:
        async with self._database.transaction() as connection:
            declared = await connection.fetchval(
                self._sql["declare_task"],
                tenant_id,
                name,
                msgspec.json.encode(declaration.parameters).decode(),
                declaration.description,
                msgspec.json.encode(declaration.defaults).decode(),
            )
            if declared:
                await check_again(connection, tenant_id, [name])
        return declared is not None

    async def disable(self, tenant_id: int, name: str, by: str, reason: str | None) -> None:
        await self._update("disable_task", tenant_id, name, by, reason)

    async def enable(self, tenant_id: int, name: str) -> None:
        await self._update("enable_task", tenant_id, name)

    async def retire(
        self, tenant_id: int, name: str, by: str, replacement: str | None, *, cancels_jobs: bool
    ) -> None:
        await self._update("retire_task", tenant_id, name, by, replacement, cancels_jobs)

    async def take_back(self, tenant_id: int, name: str) -> None:
        await self._update("take_back_task", tenant_id, name)

    async def cancelling(self) -> list[RetiredTask]:
        rows = await self._database.fetch(self._sql["cancelling_tasks"], _INDEX_DELAY)
        return [RetiredTask(*row) for row in rows]

    async def end_cancelling(self, task: RetiredTask) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["end_cancelling"], task.tenant_id, task.name)

    async def _update(self, query: str, tenant_id: int, name: str, *values: object) -> None:
        async with self._database.transaction() as connection:
            if await connection.fetchval(self._sql[query], tenant_id, name, *values) is None:
                raise NotFound("task", name)
