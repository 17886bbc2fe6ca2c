"""Days of executions come ahead of time and go when they are old and settled."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tickwork.store import partitions_and_retention as partition
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.store.query_files import queries
from tickwork.testing.clock import SettableClock

_DAYS = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'tickwork.execution'::regclass"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


async def test_makes_the_coming_days_and_drops_settled_ones(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    clock = SettableClock(database_url)
    partitions = Partitions(database, history_days=3)
    await clock.set(later := datetime.now(UTC) + timedelta(days=5))
    await partitions.keep_up()
    assert partitions.horizon() > later + timedelta(days=7)
    labels = {
        row["label"] for row in await connection.fetch(queries("partitions_and_retention")["partitions"])
    }
    assert labels == {f"{later + timedelta(days=offset):%Y%m%d}" for offset in range(-3, 8)}


async def test_keeps_a_day_with_something_left_to_do_and_no_other_for_it(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    clock = SettableClock(database_url)
    await connection.execute(
        "INSERT INTO tickwork.execution"
        " (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)"
        " VALUES (1, now(), 1, 1, 2, 'schedule', 'pending', now())"
    )
    await clock.set(datetime.now(UTC) + timedelta(days=60))
    await Partitions(database, history_days=3).keep_up()
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 1
    assert await connection.fetchval(_DAYS) == 1 + 9


async def test_times_from_before_the_history_share_a_partition_by_month(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    clock = SettableClock(database_url)
    await clock.set(datetime(2026, 7, 15, tzinfo=UTC))
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


async def test_keeps_a_day_of_which_a_worker_holds_something(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    await connection.execute(
        """
        WITH running AS (
            INSERT INTO tickwork.execution
                (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, worker_id)
            SELECT 1, now(), n, 1, 2, 'schedule', 'running', 7 FROM generate_series(1, 2) n
        )
        INSERT INTO tickwork.lease (worker_id, tenant_ids, scheduled_fors, job_ids)
        VALUES (7, '{1}', ARRAY[now()], '{1,2}')
        """
    )
    await SettableClock(database_url).set(datetime.now(UTC) + timedelta(days=60))
    partitions = Partitions(database, history_days=3)
    await partitions.keep_up()
    assert await connection.fetchval(_DAYS) == 1 + 9
    await connection.execute(
        "UPDATE tickwork.execution SET status = 'completed', finished_at = now() WHERE job_id = 1"
    )
    await partitions.keep_up()
    assert await connection.fetchval(_DAYS) == 1 + 9
    await connection.execute("UPDATE tickwork.execution SET status = 'completed', finished_at = now()")
    await partitions.keep_up()
    assert await connection.fetchval(_DAYS) == 9


async def test_what_belongs_to_a_day_is_forgotten_bit_by_bit_before_it_goes(
    database: Database, database_url: str, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connection.execute(
        """
        INSERT INTO tickwork.rule (tenant_id, timing, catch_up) SELECT 1, n::text, '{}' FROM generate_series(1, 2) n;
        INSERT INTO tickwork.round (rule_id, scheduled_for)
        SELECT r.id, date_trunc('day', now()) + n * interval '1 s' FROM tickwork.rule r, generate_series(1, 3) n;
        INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for)
        VALUES (1, now()), (1, now() - interval '100 days');
        """
    )
    await SettableClock(database_url).set(datetime.now(UTC) + timedelta(days=60))
    monkeypatch.setattr(partition, "_TOGETHER", 4)
    partitions = Partitions(database, history_days=30)
    assert await partitions.keep_up()
    assert await connection.fetchval("SELECT count(*) FROM tickwork.round") == 2
    assert not await partitions.keep_up()
    assert await connection.fetchval("SELECT count(*) FROM tickwork.round") == 0
    assert await connection.fetchval("SELECT count(*) FROM tickwork.off_schedule_execution") == 0
    assert await connection.fetchval(_DAYS) == 9


async def test_what_belongs_to_a_day_that_is_kept_stays(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    await connection.execute(
        """
        INSERT INTO tickwork.execution
            (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)
        VALUES (1, date_trunc('day', now()), 1, 1, 2, 'schedule', 'pending', now());
        INSERT INTO tickwork.off_schedule_execution (job_id, scheduled_for)
        SELECT 1, date_trunc('day', now()) + n * interval '1 day' FROM generate_series(-1, 1) n
        """
    )
    await SettableClock(database_url).set(datetime.now(UTC) + timedelta(days=60))
    await Partitions(database, history_days=30).keep_up()
    kept = "SELECT array_agg(scheduled_for = date_trunc('day', now())) FROM tickwork.off_schedule_execution"
    assert await connection.fetchval(kept) == [True]


async def test_a_day_that_somebody_reads_is_dropped_later_and_the_coming_ones_are_made(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    await SettableClock(database_url).set(datetime.now(UTC) + timedelta(days=60))
    partitions = Partitions(database, history_days=30)
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.execution")
        await partitions.keep_up()
    assert await connection.fetchval(_DAYS) > 9
    assert partitions.horizon() > datetime.now(UTC) + timedelta(days=67)
    await partitions.keep_up()
    assert await connection.fetchval(_DAYS) == 9


async def test_that_a_job_was_moved_is_forgotten_with_the_history(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    clock = SettableClock(database_url)
    partitions = Partitions(database, history_days=3)
    await connection.execute("INSERT INTO tickwork.moved_job (tenant_id, job_id) VALUES (1, 1)")
    for days, left in ((2, 1), (4, 0)):
        await clock.set(datetime.now(UTC) + timedelta(days=days))
        await partitions.keep_up()
        assert await connection.fetchval("SELECT count(*) FROM tickwork.moved_job") == left


async def test_days_and_months_in_which_something_waits_are_known(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    clock = SettableClock(database_url)
    await clock.set(now := datetime(2026, 7, 15, 9, tzinfo=UTC))
    partitions = Partitions(database, history_days=30)
    old = datetime(2025, 12, 31, 23, tzinfo=UTC)
    later = now + timedelta(days=2)
    await partitions.keep_up()
    await partitions.make_for([old, datetime(2025, 11, 1, tzinfo=UTC)])
    await connection.executemany(
        "INSERT INTO tickwork.execution"
        " (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at)"
        " VALUES (1, $1, 1, 1, 2, 'schedule', 'pending', $1)",
        [(old,), (now,), (later,)],
    )
    await connection.execute("SET timezone = 'Asia/Tokyo'")
    month = (datetime(2025, 12, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
    days = [(at.replace(hour=0), at.replace(hour=0) + timedelta(days=1)) for at in (now, later)]
    for begun_by, expected in ((later, [month, *days]), (now, [month, days[0]]), (old, [month])):
        rows = await connection.fetch(
            "SELECT begins, ends FROM tickwork.partitions_with_waiting($1) ORDER BY begins", begun_by
        )
        assert [tuple(row) for row in rows] == expected


async def test_a_day_that_somebody_dropped_is_made_again_beside_its_other_tables(
    database: Database, database_url: str, connection: asyncpg.Connection
) -> None:
    await SettableClock(database_url).set(datetime(2026, 7, 15, 12, tzinfo=UTC))
    partitions = Partitions(database, history_days=3)
    await partitions.make_ahead()
    await connection.execute("DROP TABLE tickwork.execution_20260718")
    await partitions.make_ahead()
    assert await connection.fetchval("SELECT to_regclass('tickwork.execution_20260718')") is not None
    assert partitions.horizon() == datetime(2026, 7, 23, tzinfo=UTC)
