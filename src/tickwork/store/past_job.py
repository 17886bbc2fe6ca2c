"""Jobs that were due one time go with their history: else their table would grow with every one that ran."""

from datetime import timedelta

from tickwork.model.instant import FIRST
from tickwork.store.pool import Database
from tickwork.store.query import queries

_TOGETHER = 1000
_START = FIRST, 0


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
