"""Finds running attempts that took too long or became slow."""

from datetime import timedelta

import asyncpg

from tickwork.model.execution import ExecutionKey
from tickwork.model.overdue_attempt import (
    FIRST_CHECK,
    HEARD,
    RECHECK,
    START_GRACE,
    TIMEOUT_GRACE,
    OverdueAttempt,
)
from tickwork.model.stream_event import SLOW_AFTER
from tickwork.store.late_and_slow_events import write_slow
from tickwork.store.pool import Database
from tickwork.store.port.record import CheckedLeases
from tickwork.store.query_files import queries

_SLOW = timedelta(seconds=SLOW_AFTER)


class PostgresTimeLimitStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("time_limit")

    async def check_leases(self, limit: int) -> CheckedLeases:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(
                self._sql["check_leases"],
                FIRST_CHECK,
                limit,
                TIMEOUT_GRACE,
                START_GRACE,
                _SLOW,
                RECHECK,
                HEARD,
            )
            slow = {(_key(row), row["attempt"]): row["lease_id"] for row in rows if row["is_slow"]}
            if slow:
                not_told = await write_slow(connection, [*slow])
                if not_told:
                    leases = {slow[attempt] for attempt in not_told}
                    await connection.execute(self._sql["check_again"], [*leases], RECHECK)
        return CheckedLeases(rows[0]["leases"], [_overdue(row) for row in rows if row["is_to_end"]])


def _key(row: asyncpg.Record) -> ExecutionKey:
    return ExecutionKey(row["tenant_id"], row["scheduled_for"], row["job_id"])


def _overdue(row: asyncpg.Record) -> OverdueAttempt:
    return OverdueAttempt(
        _key(row),
        row["worker_id"],
        row["attempt"],
        row["lane_id"],
        row["lease_id"],
        row["leased_at"],
        row["started_at"],
        row["timeout"],
        row["now"],
    )
