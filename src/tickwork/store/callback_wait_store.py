"""Attempts that HTTP targets finish later: how a target gets one, keeps it, and loses it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg

from tickwork.model.errors import NotFound
from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionStatus
from tickwork.model.public_ids import execution_id, from_micros
from tickwork.model.transition_after_attempt import LockedExecution
from tickwork.model.worker_protocol import Accepted, Outcome
from tickwork.store.pool import Connection, Database
from tickwork.store.port.callback import CallbackState, DuePoll, OverdueWait
from tickwork.store.port.record import AttemptState
from tickwork.store.query_files import queries

_MOST_TOGETHER = 500  # each is looked for among the slots of the workers


async def give_to_targets(
    connection: Connection, pairs: Sequence[tuple[LockedExecution, Outcome, Accepted]]
) -> None:
    """Take these executions, which are locked, away from the workers that called their targets."""
    for begin in range(0, len(pairs), _MOST_TOGETHER):
        await _give_some(connection, pairs[begin : begin + _MOST_TOGETHER])


async def _give_some(
    connection: Connection, pairs: Sequence[tuple[LockedExecution, Outcome, Accepted]]
) -> None:
    executions = [execution for execution, _, _ in pairs]
    await connection.execute(
        queries("callback_wait")["give_to_targets"],
        [execution.key.tenant_id for execution in executions],
        [execution.key.scheduled_for for execution in executions],
        [execution.key.job_id for execution in executions],
        [execution.worker_id for execution in executions],
        [execution.attempt for execution in executions],
        [from_micros(outcome.started) for _, outcome, _ in pairs],
        [timedelta(seconds=accepted.timeout) for _, _, accepted in pairs],
        [_interval(accepted.heartbeat) for _, _, accepted in pairs],
        [accepted.status_url for _, _, accepted in pairs],
        [accepted.target if accepted.status_url else None for _, _, accepted in pairs],
        [_interval(accepted.first_poll) if accepted.status_url else None for _, _, accepted in pairs],
    )


def _interval(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


class PostgresCallbackWaitStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("callback_wait")

    async def secret(self) -> bytes:
        (row,) = await self._database.fetch(self._sql["callback_secret"])
        secret: bytes = row["secret"]
        return secret

    async def state(self, job: int, scheduled_for: datetime, attempt: int) -> CallbackState:
        row = await self._database.fetchrow(self._sql["state_of_called_back"], job, scheduled_for, attempt)
        if row is None:
            raise NotFound("execution", execution_id(job, scheduled_for))
        return CallbackState(ExecutionKey(row["tenant_id"], scheduled_for, job), _state(row, attempt))

    async def extend(self, key: ExecutionKey, attempt: int) -> datetime | None:
        async with self._database.transaction() as connection:
            deadline: datetime | None = await connection.fetchval(self._sql["extend_wait"], *key, attempt)
            return deadline

    async def deadline(self, key: ExecutionKey, attempt: int) -> tuple[datetime, bool] | None:
        row = await self._database.fetchrow(self._sql["deadline_of_wait"], *key, attempt)
        return (row["deadline"], row["is_over"]) if row else None

    async def overdue(self, limit: int) -> list[OverdueWait]:
        return [_overdue(row) for row in await self._database.fetch(self._sql["overdue_waits"], limit)]

    async def end_revoked(self) -> None:
        await self._database.execute(self._sql["end_revoked_waits"])

    async def take_due_polls(self, limit: int, within: timedelta) -> list[DuePoll]:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["take_due_polls"], limit, within)
        return [DuePoll(ExecutionKey(*row[:3]), *row[3:]) for row in map(tuple, rows)]

    async def set_next_poll(self, lease_id: int, after: timedelta) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["set_next_poll"], lease_id, after)

    async def close(self, leases: Sequence[int]) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(queries("outcome")["close_leases"], list(leases))


def _state(row: asyncpg.Record, attempt: int) -> AttemptState:
    status = ExecutionStatus(row["status"])
    is_current = row["attempt"] == attempt
    completed = is_current and status is ExecutionStatus.COMPLETED
    recorded = AttemptOutcome(row["outcome"]) if row["outcome"] else None
    return AttemptState(
        status=status,
        attempt=row["attempt"],
        worker_id=row["worker_id"] if is_current and status is ExecutionStatus.RUNNING else None,
        started_at=row["started_at"],
        reason=row["reason"],
        outcome=AttemptOutcome.COMPLETED if completed else recorded,
        leases=row["leases"],
        lane_id=row["lane_id"],
        is_foreign=False,
    )


def _overdue(row: asyncpg.Record) -> OverdueWait:
    return OverdueWait(
        key=ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"]),
        attempt=row["attempt"],
        lease_id=row["lease_id"],
        heartbeat=row["heartbeat"],
        timed_out=row["timed_out"],
        started_at=row["started_at"],
        lane_id=row["lane_id"],
        is_current=row["is_current"],
    )
