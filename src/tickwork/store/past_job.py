"""Jobs that were due one time go with their history: nothing else would grow for as long as the database lives."""

from datetime import timedelta

from tickwork.store.pool import Database
from tickwork.store.query import queries

_TOGETHER = 1000


class PastJobs:
    def __init__(self, database: Database, history_days: int) -> None:
        self._database = database
        self._history = timedelta(days=history_days)
        self._sql = queries("upkeep")

    async def forget(self) -> bool:
        """Some of them; whether there may be more: those that others depended on can go once these have gone."""
        async with self._database.transaction() as connection:
            gone: int = await connection.fetchval(self._sql["forget_jobs"], self._history, _TOGETHER)
        return gone > 0
