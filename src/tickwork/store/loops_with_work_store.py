"""Which loops of a node may have something to do: one question to the database instead of one for each loop."""

from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class LoopsWithWork:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("loops_with_work")

    async def read(self) -> frozenset[str]:
        """The names of these loops."""
        return frozenset(row["loop"] for row in await self._database.fetch(self._sql["loops_with_work"]))
