"""Writes the events of executions that wait or run for too long, while they do."""

from collections.abc import Sequence
from datetime import timedelta

from tickwork.model.execution import ExecutionKey
from tickwork.model.stream_event import LATE_AFTER, EventKind
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries

_LATE = timedelta(seconds=LATE_AFTER)
_MOST_TOLD = 5000  # at once; the others get their events when they end
RunningAttempt = tuple[ExecutionKey, int]  # with the attempt's number


class PostgresOverdueStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("late_and_slow_events")

    async def tell_late(self) -> bool:
        """Write the events of executions that became late since the last look. One node does so at a time."""
        async with self._database.transaction() as connection:
            watch = await connection.fetchrow(self._sql["lock_watched_until"])
            if watch is not None:
                since, now = watch  # nothing lies in between if the clock was set back
                late = EventKind.EXECUTION_LATE
                await connection.execute(self._sql["write_late"], late, since, now, _LATE, _MOST_TOLD)
                await connection.execute(self._sql["set_watched_until"], now)
        return False


async def write_slow(connection: Connection, slow: Sequence[RunningAttempt]) -> set[RunningAttempt]:
    """Write the events of attempts that became slow. Returns those that were locked, or have ended."""
    sql = queries("late_and_slow_events")
    keys = [key for key, _ in slow]
    rows = await connection.fetch(sql["lock_slow"], *_columns(keys), [attempt for _, attempt in slow])
    running = {
        (ExecutionKey(tenant, scheduled_for, job), attempt) for tenant, scheduled_for, job, attempt in rows
    }
    if running:
        locked = [key for key, _ in running]
        await connection.execute(sql["write_slow"], EventKind.EXECUTION_SLOW, *_columns(locked))
    return {*slow} - running


def _columns(keys: Sequence[ExecutionKey]) -> list[list[object]]:
    return [[*column] for column in zip(*keys, strict=True)]
