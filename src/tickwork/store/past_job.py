"""Jobs that were due one time go with their history: nothing else would grow for as long as the database lives."""

from datetime import UTC, datetime, timedelta

from tickwork.store.pool import Database
from tickwork.store.query import queries

_TOGETHER = 1000
_START = datetime.min.replace(tzinfo=UTC), 0


class PastJobs:
    def __init__(self, database: Database, history_days: int) -> None:
        self._database = database
        self._history = timedelta(days=history_days)
        self._sql = queries("upkeep")
        self._place = _START

    async def forget(self) -> bool:
        """Look through some of them; whether there are more. Those that others depended on go in the next round."""
        async with self._database.transaction() as connection:
            past = await connection.fetch(self._sql["lock_past_jobs"], *self._place, self._history, _TOGETHER)
            await connection.execute(self._sql["forget_jobs"], [job["id"] for job in past])
        more = len(past) == _TOGETHER
        self._place = (past[-1]["scheduled_for"], past[-1]["id"]) if more else _START
        return more
