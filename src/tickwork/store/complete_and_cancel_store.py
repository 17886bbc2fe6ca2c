"""Completes and cancels executions, and records when they started."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import ExecutionKey, ExecutionStatus
from tickwork.model.ids import execution_id
from tickwork.model.statistics import ORDINARY_MICROS
from tickwork.store.attempt_ending import PostgresAttemptEnding, columns_of_started
from tickwork.store.attempt_events import write_completion_events
from tickwork.store.batch_columns import literal, shortened
from tickwork.store.pool import Database
from tickwork.store.port.record import Claimed, Reported
from tickwork.store.query_files import queries, rows_written
from tickwork.store.statistics_store import count_overdue


class PostgresOutcomeStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("complete_and_cancel")

    async def complete(
        self, completed: Sequence[Reported], leases: Sequence[int], failing: Collection[int]
    ) -> int:
        outcomes = [outcome for _, outcome, _ in completed]
        due, finished = [outcome.at for outcome in outcomes], [outcome.finished for outcome in outcomes]
        async with self._database.transaction() as connection:
            if max(finished) - min(due) > ORDINARY_MICROS:  # some may be overdue
                await count_overdue(connection, completed)
            answer = await connection.execute(
                self._sql["complete"],
                shortened([outcome.tenant for outcome in outcomes]),
                shortened(due),
                literal([outcome.job for outcome in outcomes]),
                shortened([worker_id for worker_id, _, _ in completed]),
                shortened([outcome.attempt for outcome in outcomes]),
                literal([outcome.started for outcome in outcomes]),
                literal(finished),
                _unless_empty([outcome.result for outcome in outcomes]),
            )
            if leases:
                await connection.execute(queries("attempt_ending")["close_leases"], list(leases))
            await write_completion_events(connection, outcomes, failing)
        return rows_written(answer)

    @asynccontextmanager
    async def settling(self) -> AsyncIterator[PostgresAttemptEnding]:
        async with self._database.transaction() as connection:
            yield PostgresAttemptEnding(connection)

    async def note_started(self, started: Sequence[tuple[Claimed, datetime]]) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(
                self._sql["note_started"], *columns_of_started(started), ExecutionStatus.RUNNING
            )

    async def cancel(self, key: ExecutionKey, reason: str) -> None:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_execution"], *key)
            if row is None:
                raise NotFound("execution", execution_id(key.job_id, key.scheduled_for))
            if row["status"] not in ("pending", "running"):
                raise Conflict(f"the execution has ended already: it is {row['status']}")
            await connection.execute(self._sql["cancel_execution"], *key, reason)
            if row["worker_id"] is not None:
                await connection.execute(self._sql["revoke"], *key, row["attempt"], row["worker_id"], reason)


def _unless_empty(results: list[bytes | None]) -> list[bytes | None]:
    """An empty column stands for a column of nulls."""
    return results if any(results) else []
