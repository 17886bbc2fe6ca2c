"""What workers that speak plain REST report on: the SQL behind it."""

import asyncpg

from tickwork.model.errors import NotFound
from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionStatus
from tickwork.model.ids import execution_id
from tickwork.store.pool import Database
from tickwork.store.port.report import AttemptStanding
from tickwork.store.port.seat import NO_CONNECTION
from tickwork.store.query import queries


class PostgresReportStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("report")

    async def standing(self, key: ExecutionKey, attempt: int, key_id: int) -> AttemptStanding:
        row = await self._database.fetchrow(self._sql["attempt_standing"], *key, attempt, key_id)
        if row is None:
            raise NotFound("execution", execution_id(key.job_id, key.scheduled_for))
        return _standing(row, attempt)

    async def begin(self, key: ExecutionKey, attempt: int, key_id: int) -> bool:
        async with self._database.transaction() as connection:
            began = await connection.fetchval(self._sql["begin_attempt"], *key, attempt, key_id)
        return began is not None

    async def let_go(self, key: ExecutionKey, attempt: int, key_id: int, standing: AttemptStanding) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_stop"], *key, attempt, key_id)
            if standing.leases:
                await connection.execute(queries("record")["close_leases"], standing.leases)


def _standing(row: asyncpg.Record, attempt: int) -> AttemptStanding:
    status = ExecutionStatus(row["status"])
    is_current = row["attempt"] == attempt
    by_rest = row["connection"] == NO_CONNECTION and not row["foreign"]
    completed = is_current and status is ExecutionStatus.COMPLETED
    return AttemptStanding(
        status=status,
        attempt=row["attempt"],
        worker_id=row["worker_id"] if is_current and by_rest and status is ExecutionStatus.RUNNING else None,
        started_at=row["started_at"],
        reason=row["reason"],
        outcome=AttemptOutcome.COMPLETED
        if completed
        else AttemptOutcome(row["outcome"])
        if row["outcome"]
        else None,
        leases=row["leases"] if is_current and by_rest else [],
        is_foreign=row["foreign"],
    )
