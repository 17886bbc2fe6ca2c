"""Finds what rules tell of as too much: dead letters above a number, and queues that are stuck."""

from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class PostgresExceededLimitStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("stuck_queue_and_dead_letter_events")

    async def tell(self) -> bool:
        """Write the events of what became too much since the last look, or is no more. One node does so at a time."""
        (row,) = await self._database.fetch(self._sql["is_anything_limited"])
        if row["is_any"]:
            async with self._database.transaction() as connection:
                if await connection.fetchval(self._sql["lock_limits"]):
                    for name in ("watch_queues", "write_exceeded", "write_no_longer_exceeded"):
                        await connection.execute(self._sql[name])
        return False
