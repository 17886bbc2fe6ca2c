"""Finds executions that wait or run for too long, and writes their events."""

from datetime import timedelta

from tickwork.model.stream_event import LATE_AFTER, SLOW_AFTER, EventKind
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_LATE = timedelta(seconds=LATE_AFTER)
_SLOW = timedelta(seconds=SLOW_AFTER)
_MOST_TOLD = 5000  # at once; the others get their events when they end


class PostgresOverdueStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("late_and_slow_events")

    async def tell_late_and_slow(self) -> bool:
        """Write the events of executions that became late or slow since the last look. One node does so at a time."""
        async with self._database.transaction() as connection:
            watch = await connection.fetchrow(self._sql["lock_watched_until"])
            if watch is not None:
                since, now = watch  # nothing lies in between if the clock was set back
                late, slow = EventKind.EXECUTION_LATE, EventKind.EXECUTION_SLOW
                await connection.execute(self._sql["write_late"], late, since, now, _LATE, _MOST_TOLD)
                await connection.execute(self._sql["write_slow"], slow, since, now, _SLOW, _MOST_TOLD)
                await connection.execute(self._sql["set_watched_until"], now)
        return False
