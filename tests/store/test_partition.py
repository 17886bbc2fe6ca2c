"""Days of executions come ahead of time and go when they are old and settled."""

from datetime import UTC, datetime, timedelta

import asyncpg

from tickwork.store.partition import Partitions
from tickwork.store.pool import Database
from tickwork.testing.clock import SettableClock

_DAYS = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'tickwork.execution'::regclass"


async def test_makes_the_coming_days_and_drops_settled_ones(
    database_url: str, connection: asyncpg.Connection
) -> None:
    clock, database = SettableClock(database_url), Database(database_url, size=1)
    await database.open()
    partitions = Partitions(database, history_days=3)
    await partitions.keep_up()
    before = await connection.fetchval(_DAYS)
    await clock.set(datetime.now(UTC) + timedelta(days=5))
    await partitions.keep_up()
    assert partitions.horizon() > datetime.now(UTC) + timedelta(days=12)
    assert await connection.fetchval(_DAYS) == before + 5 - 3
    await database.close()


async def test_keeps_a_day_with_something_left_to_do(
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
    await database.close()
