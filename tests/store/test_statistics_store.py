"""How the database counts, finds and forgets statistics."""

from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import pytest

from support.query_plan import explain, scans
from tickwork.model.statistics import UNIT_BITS, bucket_of
from tickwork.store.pool import Database
from tickwork.store.statistics_store import PostgresStatisticsStore

_TENANTS = """
INSERT INTO tickwork.tenant (name, signing_secret) SELECT 't' || n, '' FROM generate_series(1, 100) AS n
ON CONFLICT DO NOTHING
"""
_FILL = """
INSERT INTO tickwork.statistic (span, at, tenant_id, lane_id, source, completed)
SELECT span::tickwork.statistic_span, tickwork.clock() - n * age, t.id, 1, 'merged', 1
FROM (VALUES ('minute', interval '1 minute'), ('hour', interval '1 hour'), ('day', interval '1 day')) AS s (span, age)
CROSS JOIN generate_series(1, 20000) AS n JOIN tickwork.tenant t ON t.id = 1 + n % 100
"""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


async def fill(connection: asyncpg.Connection) -> None:
    await connection.execute(_TENANTS)
    await connection.execute(_FILL)


async def test_the_database_puts_durations_into_the_same_buckets(connection: asyncpg.Connection) -> None:
    edges = {(1 << power) + near for power in range(43) for near in (-1, 0, 1)} | {-1000, 127, 128, 10**13}
    rows = await connection.fetch(
        "SELECT n, tickwork.histogram_bucket(n * interval '1 us') AS bucket FROM unnest($1::bigint[]) AS n",
        sorted(edges),
    )
    assert [row["bucket"] for row in rows] == [bucket_of(row["n"] >> UNIT_BITS) for row in rows]


@pytest.mark.parametrize("name", ["merge", "compact_minutes", "remove_counted", "remove_merged"])
async def test_upkeep_finds_its_time_in_each_tenant(database: Database, name: str) -> None:
    (way,) = scans(await explain(database, "statistics", name), "statistic")
    assert way.index == "statistic_of_tenant"
    assert "(at " in way.condition


@pytest.mark.parametrize("filled", [False, True])
async def test_a_series_is_read_by_tenant_and_time(
    database: Database, connection: asyncpg.Connection, filled: bool
) -> None:
    if filled:
        await fill(connection)
        await connection.execute("ANALYZE tickwork.statistic")
    ways = list(scans(await explain(database, "statistics", "series"), "statistic"))
    assert len(ways) == 3  # minutes, hours and days
    assert {way.index for way in ways} == {"statistic_of_tenant"}
    assert all(way.goes_by("tenant_id", "span") and "(at >= " in way.condition for way in ways)


async def test_minutes_are_forgotten_before_hours_and_hours_before_days(
    database: Database, connection: asyncpg.Connection
) -> None:
    await fill(connection)
    store = PostgresStatisticsStore(database)
    while await store.delete_old():
        pass
    rows = await connection.fetch(
        "SELECT span::text, max(tickwork.clock() - at) AS oldest FROM tickwork.statistic GROUP BY 1 ORDER BY 2"
    )
    assert [row["span"] for row in rows] == ["minute", "hour", "day"]
    assert [row["oldest"] <= timedelta(days=days) for row, days in zip(rows, (7, 400, 3660), strict=True)]


async def test_minutes_that_are_not_merged_yet_are_kept(
    database: Database, connection: asyncpg.Connection
) -> None:
    await fill(connection)
    await connection.execute(
        "UPDATE tickwork.statistic_upkeep SET hours_until = '-infinity', days_until = '-infinity'"
    )
    while await PostgresStatisticsStore(database).delete_old():
        pass
    assert (
        await connection.fetchval("SELECT count(*) FROM tickwork.statistic WHERE span = 'minute'") == 20_000
    )
