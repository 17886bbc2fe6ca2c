"""Creates the partitions of executions and attempts ahead of time, and drops old ones; deletes past one-time jobs.

There is one partition per day. Executions that run again from before the kept history share a partition per month:
claiming reads every partition, and a year of days would slow it down.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta

import asyncpg
import structlog

from tickwork.model.errors import Unavailable
from tickwork.model.field_types import EARLIEST
from tickwork.store.pool import Connection, Database
from tickwork.store.query_files import queries, rows_written

_log = structlog.get_logger("tickwork")
_AHEAD = 8  # days
_DAY = timedelta(days=1)
_MONTH_LABEL = 6  # digits
_SEALED_FOR = timedelta(days=2)  # a day that is being archived is no longer among the partitions
_TOGETHER = 10_000  # rows that are deleted in one transaction
_BELONGINGS = (
    "forget_dead_letters",
    "forget_awaited",
    "forget_off_schedule",
    "forget_rounds",
    "forget_attempt_versions",
    "forget_retry_payloads",
    "forget_usage",
)
# While one transaction waits to drop a partition, all later ones wait behind it.
BRIEFLY = "SET LOCAL lock_timeout = '1s'"
TABLES = ("execution", "attempt", "log", "checkpoint")
# Most of each page stays free, so that the finished row with its result fits into the page of the old one and no index
# changes (HOT).
_STORAGE = {
    "execution": "fillfactor = 35, autovacuum_vacuum_insert_threshold = 200000",
    "attempt": "fillfactor = 100",
    "log": "fillfactor = 100",
    "checkpoint": "fillfactor = 70",  # a state is replaced again and again
}


class Partitions:
    def __init__(
        self,
        database: Database,
        history_days: int,
        *,
        making: Database | None = None,
        are_archived: bool = False,
    ) -> None:
        """`making`: connections for creating partitions, which must not wait. Dropping takes longer than they allow.
        `are_archived`: old ones are not dropped here, but after they are archived."""
        self._database = database
        self._making = making or database
        self._are_archived = are_archived
        self._history = timedelta(days=history_days)
        self._sql = queries("partitions_and_retention")
        self._begin = self._end = EARLIEST
        self._labels: set[str] = set()

    def horizon(self) -> datetime:
        """Executions due before this have a partition."""
        return self._end

    async def keep_up(self) -> bool:
        """Create coming partitions and drop old ones. Returns whether there is more to delete."""
        await self.make_ahead()
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_backfills"], self._history)
            await connection.execute(self._sql["forget_moved_jobs"], self._history)
            told_of = self._history_to_tell()
            await connection.execute(self._sql["forget_workers"], told_of)
            await connection.execute(self._sql["forget_job_versions"], told_of)
            await connection.execute(self._sql["forget_purges"], self._history, self._are_archived)
            await connection.execute(self._sql["forget_tenant_purges"], self._history, self._are_archived)
            await connection.execute(self._sql["forget_restored"])
        return False if self._are_archived else await self._drop_old()

    def _history_to_tell(self) -> timedelta:
        """For how long it is kept which workers there were and what jobs were: executions that wait for the archive are
        archived with it."""
        if not self._are_archived:
            return self._history
        oldest = min((bounds(label)[0] for label in self._labels), default=self._begin)
        return self._history + max(self._begin - oldest, timedelta()) + _SEALED_FOR

    async def make_ahead(self) -> None:
        """Create the coming partitions. Separate from dropping, so that a failure there does not prevent it."""
        async with self._making.transaction() as connection:
            await connection.execute(self._sql["lock_partitions"])
            today: datetime = await connection.fetchval("SELECT tickwork.clock()")
            self._begin = _midnight((today - self._history).date())
            labels = await self._read(connection)
            # Somebody may have dropped some, and making them may fail.
            self._labels, self._end = set(labels), _end_without_gap(today, labels)
            for row in await connection.fetch(self._sql["incomplete_partitions"], TABLES):
                await _make(connection, row["label"])
            for day in ((today + offset * _DAY).date() for offset in range(-1, _AHEAD)):
                await self._make(connection, day, labels)
        self._labels, self._end = labels, _end_without_gap(today, labels)

    async def make_for(self, times: Iterable[datetime]) -> None:
        """Create the missing partitions for past due times that are to run again."""
        missing = {at.date() for at in times if not self._is_there(at)}
        if not missing:
            return
        async with self._making.transaction() as connection:
            await connection.execute(self._sql["lock_partitions"])
            labels = await self._read(connection)
            for day in sorted(missing):
                await self._make(connection, day, labels)
        self._labels = labels

    def _is_there(self, at: datetime) -> bool:
        """Not certain for times before the kept history: another node may have dropped the partition."""
        return at >= self._begin and f"{at:%Y%m%d}" in self._labels

    async def _read(self, connection: Connection) -> set[str]:
        return {row["label"] for row in await connection.fetch(self._sql["partitions"])}

    async def _make(self, connection: Connection, day: date, labels: set[str]) -> None:
        if _lacks_partition(day, labels):
            label = self._label_for(day, labels)
            await _make(connection, label)
            labels.add(label)

    def _label_for(self, day: date, labels: Collection[str]) -> str:
        month = f"{day:%Y%m}"
        split = any(label.startswith(month) for label in labels)
        return f"{day:%Y%m%d}" if split or bounds(month)[1] > self._begin else month

    def old_labels(self) -> list[str]:
        """The partitions from before the history that is kept, oldest first."""
        return sorted((label for label in self._labels if bounds(label)[1] <= self._begin), key=bounds)

    async def is_attached(self, connection: Connection, label: str) -> bool:
        return label in await self._read(connection)

    def left(self, label: str) -> None:
        """The partition is no longer there."""
        self._labels.discard(label)

    async def _drop_old(self) -> bool:
        """Stop at the first partition that is in use: waiting for each would delay all other transactions each time."""
        try:
            more = [await self._drop(label) for label in self.old_labels()]
        except Unavailable as error:
            if not isinstance(error.__cause__, asyncpg.LockNotAvailableError):
                raise
            _log.info("old partitions are kept for now, because they are in use")
            return False
        return any(more)

    async def _drop(self, label: str) -> bool:
        """Drop a partition with nothing left to do. Returns whether there is more to delete before."""
        async with self._database.transaction() as connection:
            if not await self.is_settled(connection, label):
                return False
            if await self._forget(connection, label, await self._read(connection)):
                return True
            await connection.execute(BRIEFLY)
            await _drop(connection, label)
        self.left(label)
        return False

    async def forget_unless_there(self, connection: Connection, label: str) -> bool:
        """Forget some of what belongs to a partition that was taken out, unless there is another one for its time.
        Returns whether there may be more."""
        await connection.execute(self._sql["lock_partitions"])
        labels = await self._read(connection)
        return label not in labels and await self._forget(connection, label, labels)

    async def _forget(self, connection: Connection, label: str, labels: Collection[str]) -> bool:
        """Delete some rows that belong to its due times, and to earlier ones without a partition. Returns whether there
        may be more."""
        begin, end = bounds(label)
        since = max((before for _, before in map(bounds, labels) if before <= begin), default=EARLIEST)
        answers = [await connection.execute(self._sql[name], since, end, _TOGETHER) for name in _BELONGINGS]
        return max(map(rows_written, answers)) == _TOGETHER

    async def is_settled(self, connection: Connection, label: str) -> bool:
        """Whether nothing in a partition is left to do. From here to the end of the transaction no other node creates
        or drops partitions."""
        await connection.execute(self._sql["lock_partitions"])
        await connection.execute(self._sql["give_up_rounds"], *bounds(label))
        settled: bool = await connection.fetchval(self._sql["is_settled"], *bounds(label), self._history)
        return settled


def _lacks_partition(day: date, labels: Collection[str]) -> bool:
    return f"{day:%Y%m%d}" not in labels and f"{day:%Y%m}" not in labels


def _end_without_gap(today: datetime, labels: Collection[str]) -> datetime:
    """Every day from today until then has a partition."""
    days = ((today + offset * _DAY).date() for offset in range(_AHEAD))
    missing = (day for day in days if _lacks_partition(day, labels))
    return _midnight(next(missing, (today + _AHEAD * _DAY).date()))


async def _make(connection: Connection, label: str) -> None:
    """Create the tables that are missing, and attach each then: attaching does not wait for readers and writers of the
    other partitions."""
    begin, end = (at.isoformat() for at in bounds(label))
    for table in TABLES:
        name = f"tickwork.{table}_{label}"
        if await connection.fetchval("SELECT to_regclass($1) IS NULL", name):
            await connection.execute(
                f"""CREATE TABLE {name} (LIKE tickwork.{table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
                    WITH ({_STORAGE[table]});
                    ALTER TABLE tickwork.{table} ATTACH PARTITION {name} FOR VALUES FROM ('{begin}') TO ('{end}')"""
            )


async def _drop(connection: Connection, label: str) -> None:
    for table in TABLES:
        await connection.execute(f"DROP TABLE IF EXISTS tickwork.{table}_{label}")


def bounds(label: str) -> tuple[datetime, datetime]:
    """The begin and the exclusive end of a partition: 20260131 is a day, 202601 a month."""
    if len(label) == _MONTH_LABEL:
        begin = date(int(label[:4]), int(label[4:]), 1)
        return _midnight(begin), _midnight((begin + 31 * _DAY).replace(day=1))
    day = date.fromisoformat(label)
    return _midnight(day), _midnight(day + _DAY)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


_JOBS_TOGETHER = 1000
_START = EARLIEST, 0


class PastJobs:
    def __init__(self, database: Database, history_days: int) -> None:
        self._database = database
        self._history = timedelta(days=history_days)
        self._sql = queries("partitions_and_retention")
        self._place = _START

    async def forget(self) -> bool:
        """Check some past one-time jobs, and delete those that nothing refers to. Returns whether there are more. Jobs
        that others depended on are deleted in the next pass."""
        async with self._database.transaction() as connection:
            past = await connection.fetch(
                self._sql["lock_past_jobs"], *self._place, self._history, _JOBS_TOGETHER
            )
            await connection.execute(self._sql["forget_jobs"], [job["id"] for job in past])
        more = len(past) == _JOBS_TOGETHER
        self._place = (past[-1]["scheduled_for"], past[-1]["id"]) if more else _START
        return more
