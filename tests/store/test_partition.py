"""Days of executions come ahead of time and go when they are old and settled."""

from datetime import UTC, datetime, timedelta

import asyncpg

from tickwork.store.partition import Partitions
from tickwork.store.pool import Database
from tickwork.store.query import queries
from tickwork.testing.clock import SettableClock

_DAYS = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'tickwork.execution'::regclass"


async def test_makes_the_coming_days_and_drops_settled_ones(
    database_url: str, connection: asyncpg.Connection
) -> None:
    clock, database = SettableClock(database_url), Database(database_url, size=1)
    await database.open()
    partitions = Partitions(database, history_days=3)
    await clock.set(later := datetime.now(UTC) + timedelta(days=5))
    await partitions.keep_up()
    assert partitions.horizon() > later + timedelta(days=7)
    labels = {row["label"] for row in await connection.fetch(queries("upkeep")["partitions"])}
    assert labels == {f"{later + timedelta(days=offset):%Y%m%d}" for offset in range(-3, 8)}
    await database.close()


async def test_keeps_a_day_with_something_left_to_do_and_no_other_for_it(
    database_url: str, connection: asyncpg.Connection
) -> None:
    clock, database = SettableClock(database_url), Database(database_url, size=1)
    await database.open()
    await connection.execute(
        "INSERT INTO tickwork.execution"
        " (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)"
        " VALUES (1, now(), 1, 1, 2, 'schedule', 'pending', now())"
    )
    await clock.set(datetime.now(UTC) + timedelta(days=60))
    await Partitions(database, history_days=3).keep_up()
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 1
    assert await connection.fetchval(_DAYS) == 1 + 9
    await database.close()


async def test_times_from_before_the_history_share_a_partition_by_month(
    database_url: str, connection: asyncpg.Connection
) -> None:
    clock, database = SettableClock(database_url), Database(database_url, size=1)
    await clock.set(datetime(2026, 7, 15, tzinfo=UTC))
    await database.open()
    partitions = Partitions(database, history_days=30)
    await partitions.keep_up()
    before = await connection.fetchval(_DAYS)
    for _ in range(2):
        await partitions.make_for(datetime(2026, 2, day, tzinfo=UTC) for day in range(1, 29))
        assert await connection.fetchval(_DAYS) == before + 1
    await partitions.make_for(
        [datetime(2026, 6, day, tzinfo=UTC) for day in (10, 20)]
    )  # the history begins on the 15th
    assert await connection.fetchval(_DAYS) == before + 3
    await clock.set(datetime(2026, 8, 15, tzinfo=UTC))
    await connection.execute(
        "INSERT INTO tickwork.execution"
        " (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)"
        " VALUES (1, '2026-06-10Z', 1, 1, 2, 'schedule', 'pending', now())"
    )
    await partitions.keep_up()
    await partitions.make_for([datetime(2026, 6, 11, tzinfo=UTC)])  # that month has days already
    names = (
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'tickwork.execution'::regclass"
    )
    there = {row[0].rpartition("_")[2] for row in await connection.fetch(names)}
    assert "20260611" in there
    assert "202602" not in there
    await database.close()
