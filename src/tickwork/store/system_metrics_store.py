"""Reads what the metrics say about the whole system."""

from typing import NamedTuple

from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class SystemState(NamedTuple):
    fire_lag: float  # seconds; 0 if no rule is late
    event_lag: float  # seconds; 0 if every event has its number
    notifier_lag: float  # seconds; 0 if every event was handled
    dead_letters: int  # of users
    workers: int
    key_expires_in: float | None  # seconds, of the API key in use that expires next
    connections: int  # to the server, of everybody
    connections_allowed: int


class PostgresMetricStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("system_metrics")

    async def system_state(self, most_dead_letters: int) -> SystemState:
        """Of all tenants. Dead letters are counted up to `most_dead_letters`."""
        (row,) = await self._database.fetch(self._sql["system_state"], most_dead_letters)
        return SystemState(
            row["fire_lag"] or 0.0,
            row["event_lag"] or 0.0,
            row["notifier_lag"] or 0.0,
            row["dead_letters"],
            row["workers"],
            row["key_expires_in"],
            row["connections"],
            row["connections_allowed"],
        )
