"""Executions that were brought back from the archive for some time, as answers of the API."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from tickwork.model.attempt_log import LogEntry
from tickwork.model.execution import AttemptView, ExecutionKey, ExecutionView
from tickwork.model.past_attempt_input import ExecutionInput
from tickwork.store.pool import Database
from tickwork.store.port.archive import RestoredExecution
from tickwork.store.query_files import queries, rows_written


class PostgresRestoredStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("restored_from_archive")

    async def find(self, key: ExecutionKey) -> RestoredExecution | None:
        row = await self._database.fetchrow(self._sql["find_restored"], *key)
        if row is None:
            return None
        return RestoredExecution(
            key,
            msgspec.json.decode(row["execution"], type=ExecutionView),
            msgspec.json.decode(row["attempts"], type=list[AttemptView]),
            msgspec.json.decode(row["input"], type=ExecutionInput),
            msgspec.json.decode(row["log"], type=list[LogEntry]),
        )

    async def keep(self, executions: Sequence[RestoredExecution], period: timedelta) -> int:
        """Keep them for this long from now on. Returns how many: none of jobs that were purged, nor of tenants that are
        not here."""
        async with self._database.transaction() as connection:
            answer = await connection.execute(
                self._sql["restore_executions"],
                [each.key.tenant_id for each in executions],
                [each.key.scheduled_for for each in executions],
                [each.key.job_id for each in executions],
                [msgspec.json.encode(each.execution) for each in executions],
                [msgspec.json.encode(each.attempts) for each in executions],
                [msgspec.json.encode(each.input) for each in executions],
                [msgspec.json.encode(each.log) for each in executions],
                [each.tenant for each in executions],
                period,
            )
        return rows_written(answer)
