"""Partitions of executions and their attempts, one per day: made ahead of time, dropped when old."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

from tickwork.store.pool import Connection, Database
from tickwork.store.query import queries

_AHEAD = 8  # days
_DAY = timedelta(days=1)
_TABLES = ("execution", "attempt")
# Most of each page stays free, so that the finished row with its result finds room beside the old one and no index
# is touched (HOT).
_STORAGE = {
    "execution": "fillfactor = 35, autovacuum_vacuum_insert_threshold = 200000",
    "attempt": "fillfactor = 100",
}


class Partitions:
    def __init__(self, database: Database, history_days: int) -> None:
        self._database = database
        self._history = timedelta(days=history_days)
        self._sql = queries("upkeep")
        self._end = datetime.min.replace(tzinfo=UTC)
        self._days: set[date] = set()

    def horizon(self) -> datetime:
        """Executions due before this have a partition."""
        return self._end

    async def keep_up(self) -> bool:
        """Make what is coming, drop what is old and settled."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_partitions"])
            today: datetime = await connection.fetchval("SELECT tickwork.clock()")
            days = {row["day"] for row in await connection.fetch(self._sql["partitions"])}
            coming = {(today + offset * _DAY).date() for offset in range(-1, _AHEAD)}
            for day in sorted(coming - days):
                await _make(connection, day)
            dropped = await self._drop_old(connection, sorted(days), today)
        self._days = (days | coming) - dropped
        self._end = _midnight((today + _AHEAD * _DAY).date())
        return False

    async def make_for(self, times: Iterable[datetime]) -> None:
        """Make days of the past that executions are wanted for again."""
        missing = {at.date() for at in times} - self._days
        if not missing:
            return
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_partitions"])
            days = {row["day"] for row in await connection.fetch(self._sql["partitions"])}
            for day in sorted(missing - days):
                await _make(connection, day)
        self._days |= days | missing

    async def _drop_old(self, connection: Connection, days: list[date], today: datetime) -> set[date]:
        oldest_kept = (today - self._history).date()
        dropped = set()
        for day in days:
            if day >= oldest_kept:
                break
            settled = await connection.fetchval(
                self._sql["is_settled"], _midnight(day), _midnight(day + _DAY)
            )
            if not settled:
                break
            await _drop(connection, day)
            dropped.add(day)
            await connection.execute(self._sql["forget_rounds"], _midnight(day + _DAY))
            await connection.execute(self._sql["forget_extras"], _midnight(day + _DAY))
        return dropped


async def _make(connection: Connection, day: date) -> None:
    """Made apart and then attached: attaching does not wait for readers and writers of the other days."""
    begin, end = _midnight(day).isoformat(), _midnight(day + _DAY).isoformat()
    for table in _TABLES:
        name = f"tickwork.{table}_{day:%Y%m%d}"
        await connection.execute(
            f"""CREATE TABLE {name} (LIKE tickwork.{table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
                WITH ({_STORAGE[table]});
                ALTER TABLE tickwork.{table} ATTACH PARTITION {name} FOR VALUES FROM ('{begin}') TO ('{end}')"""
        )


async def _drop(connection: Connection, day: date) -> None:
    for table in _TABLES:
        await connection.execute(f"DROP TABLE IF EXISTS tickwork.{table}_{day:%Y%m%d}")


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
