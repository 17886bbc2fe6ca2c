"""A migration of a large table goes in batches, each told where the one before has ended, whatever interrupts it."""

import asyncio

import asyncpg
import pytest

from support.later_migrations import LaterMigrations
from support.waiting import eventually
from tickwork.model.errors import Unavailable, WrongSchema
from tickwork.store import migrate
from tickwork.store.connect_to_any_host import MIGRATION

_COLORS = """
    CREATE TABLE tickwork.color (id integer PRIMARY KEY, shade text, changes integer NOT NULL DEFAULT 0);
    INSERT INTO tickwork.color (id) SELECT generate_series(1, 10)"""
_FILL = """
    WITH batch AS MATERIALIZED (
        SELECT id FROM tickwork.color WHERE id > coalesce($1::jsonb::int, 0) ORDER BY id LIMIT 4
    ), filled AS (
        UPDATE tickwork.color c SET shade = 'dark', changes = changes + 1 FROM batch
        WHERE c.id = batch.id AND c.shade IS NULL
        RETURNING c.id
    )
    SELECT to_jsonb(max(id)) AS place, (SELECT count(*) FROM filled) AS rows FROM batch"""
_WAITS = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%color%'"
_TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tickwork'"""


@pytest.fixture
async def later(connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch) -> LaterMigrations:
    monkeypatch.setattr(migrate, "_TELL_INTERVAL", 0)
    await connection.execute(_COLORS)
    return LaterMigrations(monkeypatch)


async def is_complete(connection: asyncpg.Connection) -> bool:
    rows = await connection.fetch("SELECT shade, changes FROM tickwork.color")
    return [tuple(row) for row in rows] == [("dark", 1)] * 10


async def test_each_batch_goes_on_where_the_one_before_has_ended(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_fill_shade__batches=_FILL)
    told: list[str] = []
    assert await migrate.upgrade(database_url, progress=lambda _, said: told.append(said)) == names
    assert told == ["4 rows so far", "8 rows so far", "10 rows so far"]
    assert await is_complete(connection)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.migration_progress") == 0


async def test_a_batch_without_changes_is_not_the_last_one(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    await connection.execute("UPDATE tickwork.color SET shade = 'dark', changes = 1 WHERE id <= 6")
    names = later(_0002_fill_shade__batches=_FILL)
    told: list[str] = []
    assert await migrate.upgrade(database_url, progress=lambda _, said: told.append(said)) == names
    assert told == ["0 rows so far", "2 rows so far", "4 rows so far"]
    assert await is_complete(connection)


@pytest.mark.parametrize("batches", [1, 2, 3])
async def test_goes_on_at_its_place_wherever_it_was_interrupted(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, batches: int
) -> None:
    names = later(_0002_fill_shade__batches=_FILL)
    told: list[str] = []

    def die(name: str, said: str) -> None:
        told.append(said)
        if len(told) == batches:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await migrate.upgrade(database_url, progress=die)
    place = await connection.fetchval("SELECT place::int FROM tickwork.migration_progress WHERE number = 2")
    assert place == min(4 * batches, 10)
    assert await migrate.upgrade(database_url, progress=lambda _, said: told.append(said)) == names
    assert told == ["4 rows so far", "8 rows so far", "10 rows so far"]
    assert await is_complete(connection)


@pytest.mark.parametrize("row", [2, 6, 10])
async def test_a_batch_whose_connection_is_terminated_is_done_again_and_no_other(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, row: int
) -> None:
    names = later(_0002_fill_shade__batches=_FILL)
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.color WHERE id = $1 FOR UPDATE", row)
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await eventually(lambda: _waits(connection), within=30, what="the batch waits for the row")
        await connection.execute(_TERMINATE)
        with pytest.raises(Unavailable):
            await upgrading
    filled = await connection.fetchval("SELECT count(*) FROM tickwork.color WHERE shade IS NOT NULL")
    assert filled == (row - 1) // 4 * 4
    assert await migrate.upgrade(database_url) == names
    assert await is_complete(connection)


async def _waits(connection: asyncpg.Connection) -> bool:
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    return bool(await connection.fetchval(_WAITS))


async def test_a_batch_lets_whoever_has_its_rows_go_first(
    database_url: str,
    connection: asyncpg.Connection,
    later: LaterMigrations,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(migrate, "_PAUSE", 0)
    monkeypatch.setattr(migrate, "_TRIES", 1)
    monkeypatch.setattr(migrate, "MIGRATION", MIGRATION._replace(lock=1))
    names = later(_0002_fill_shade__batches=_FILL)
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.color WHERE id = 6 FOR UPDATE")
        with pytest.raises(Unavailable, match="did not get its locks"):
            await migrate.upgrade(database_url)
    assert await migrate.upgrade(database_url) == names
    assert await is_complete(connection)


async def test_a_batch_may_take_longer_than_statements_of_others(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f"ALTER DATABASE {name} SET statement_timeout = '20ms'")
    names = later(_0002_fill_shade__batches=f"{_FILL}, pg_sleep(0.1)")
    assert await migrate.upgrade(database_url) == names
    assert await is_complete(connection)


async def test_a_place_that_is_no_json_is_refused(database_url: str, later: LaterMigrations) -> None:
    later(_0002_fill_shade__batches="SELECT coalesce($1::jsonb::int, 0) + 1 AS place, 1 AS rows")
    with pytest.raises(WrongSchema, match=r"0002_fill_shade\.batches\.sql.*write to_jsonb"):
        await migrate.upgrade(database_url)
