"""Reads what the metrics say about the whole system."""

from tickwork.store.pool import Database
from tickwork.store.port.metric import SystemState
from tickwork.store.query_files import queries


class PostgresMetricStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("metric")

    async def system_state(self, most_dead_letters: int) -> SystemState:
        (row,) = await self._database.fetch(self._sql["system_state"], most_dead_letters)
        return SystemState(
            row["fire_lag"] or 0.0,
            row["event_lag"] or 0.0,
            row["dead_letters"],
            row["workers"],
            row["key_expires_in"],
        )
