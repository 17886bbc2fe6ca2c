"""Indexes are built while others write, partition by partition, and whatever interrupts it, they are there at last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count

import asyncpg
import pytest

from support.later_migrations import LaterMigrations
from support.waiting import eventually
from tickwork.model.errors import Unavailable
from tickwork.store import migrate, run_concurrent_statements
from tickwork.store.connect_to_any_host import MIGRATION

_COLORS = """
    CREATE TABLE tickwork.color (id integer PRIMARY KEY, shade text);
    INSERT INTO tickwork.color SELECT generate_series(1, 10), 'dark';
    CREATE TABLE tickwork.paint (day integer, shade text, CONSTRAINT known CHECK (shade <> 'none'))
        PARTITION BY RANGE (day);
    CREATE TABLE tickwork.paint_1 PARTITION OF tickwork.paint FOR VALUES FROM (1) TO (2);
    CREATE TABLE tickwork.paint_2 PARTITION OF tickwork.paint FOR VALUES FROM (2) TO (3);
    INSERT INTO tickwork.paint SELECT 1 + n % 2, 'dark' FROM generate_series(1, 10) AS n"""
_ON_TABLE = "CREATE INDEX CONCURRENTLY color_shade ON tickwork.color (shade);"
_ON_PARTITIONS = """
    -- Both in one file.
    CREATE INDEX CONCURRENTLY paint_shade ON tickwork.paint (shade, lower(shade))
        WHERE shade IS NOT NULL;
    CREATE UNIQUE INDEX CONCURRENTLY color_key ON tickwork.color (shade, id);"""
_INDEXES = """
    SELECT c.relname, i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
    WHERE c.relname ~ '^(color|paint)_' AND NOT i.indisprimary ORDER BY c.relname"""
_ALL = [("color_key", True), ("paint_shade", True), ("paint_shade_1", True), ("paint_shade_2", True)]
_BUILDS = "SELECT pid FROM pg_stat_activity WHERE query ~ '^CREATE (UNIQUE )?INDEX CONCURRENTLY' AND state = 'active'"
_WAITS = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LOCK TABLE%' AND wait_event_type = 'Lock'"
_TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tickwork'"""
_STEPS = range(6)
_WITHIN = 30.0


@pytest.fixture
async def later(connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch) -> LaterMigrations:
    monkeypatch.setattr(migrate, "_PAUSE", 0)
    await connection.execute(_COLORS)
    return LaterMigrations(monkeypatch)


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Of a program that uses the tables meanwhile. It never waits for long."""
    connection = await asyncpg.connect(database_url, server_settings={"lock_timeout": "5s"})
    yield connection
    await connection.close()


async def indexes(connection: asyncpg.Connection) -> list[tuple[str, bool]]:
    return [tuple(row) for row in await connection.fetch(_INDEXES)]


async def seen(connection: asyncpg.Connection, query: str) -> int:
    """The process of which this becomes true."""
    pid: int = await eventually(lambda: connection.fetchval(query), within=_WITHIN, what=query)
    return pid


async def test_builds_an_index_on_a_table_and_on_each_partition(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_index_shade__concurrently=_ON_PARTITIONS, _0003_add_hue="CREATE TABLE hue ()")
    told: list[str] = []
    assert await migrate.upgrade(database_url, progress=lambda _, said: told.append(said)) == names
    assert await indexes(connection) == _ALL
    assert told == ["index paint_shade_1: building", "index paint_shade_2: building",
                    "index paint_shade: complete on all partitions", "index color_key: building"]  # fmt: skip
    await connection.execute(
        "CREATE TABLE tickwork.paint_3 PARTITION OF tickwork.paint FOR VALUES FROM (3) TO (4)"
    )
    assert await connection.fetchval("SELECT count(*) FROM pg_indexes WHERE tablename = 'paint_3'") == 1


async def test_writers_are_not_held_up_while_an_index_is_built(
    database_url: str, connection: asyncpg.Connection, other: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_index_shade__concurrently=_ON_PARTITIONS)
    async with connection.transaction():
        await connection.execute("INSERT INTO tickwork.paint VALUES (1, 'old')")
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await seen(other, _BUILDS)
        await other.execute("INSERT INTO tickwork.paint VALUES (1, 'new'), (2, 'new')")
        await other.execute("UPDATE tickwork.paint SET shade = 'newer' WHERE shade = 'dark'")
        status = await migrate.status(database_url)
        assert status.under_way == ["index paint_shade_1: waiting for writers before build"]
        assert not upgrading.done()
    assert await upgrading == names
    assert await indexes(connection) == _ALL


async def test_a_statement_timeout_does_not_end_it(
    database_url: str, connection: asyncpg.Connection, other: asyncpg.Connection, later: LaterMigrations
) -> None:
    name = await connection.fetchval("SELECT current_database()")
    await other.execute(f"ALTER DATABASE {name} SET statement_timeout = '50ms'")
    await other.execute(f"ALTER DATABASE {name} SET lock_timeout = '50ms'")
    names = later(_0002_index_shade__concurrently=_ON_TABLE)
    async with connection.transaction():
        await connection.execute("INSERT INTO tickwork.color VALUES (11)")
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await seen(other, f"{_BUILDS} AND query_start < clock_timestamp() - interval '0.2 s'")
    assert await upgrading == names


@pytest.mark.parametrize("end", ["pg_terminate_backend", "pg_cancel_backend"])
async def test_an_index_whose_building_was_ended_is_built_again(
    database_url: str,
    connection: asyncpg.Connection,
    other: asyncpg.Connection,
    later: LaterMigrations,
    end: str,
) -> None:
    names = later(_0002_index_shade__concurrently=_ON_PARTITIONS)
    async with connection.transaction():
        await connection.execute("INSERT INTO tickwork.paint VALUES (2, 'old')")
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await seen(other, f"{_BUILDS} AND query LIKE '%paint_shade_2%'")
        await other.execute(f"SELECT {end}(({_BUILDS}))")
        with pytest.raises(Unavailable):
            await upgrading
        assert await indexes(other) == [("paint_shade_1", True), ("paint_shade_2", False)]
    assert (await migrate.status(database_url)).pending == names
    told: list[str] = []
    assert await migrate.upgrade(database_url, progress=lambda _, said: told.append(said)) == names
    assert told[:2] == ["index paint_shade_2: dropping what was left of it", "index paint_shade_2: building"]
    assert await indexes(connection) == _ALL


async def test_whoever_comes_after_a_program_that_died_waits_for_what_the_server_still_builds(
    database_url: str, connection: asyncpg.Connection, other: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_index_shade__concurrently=_ON_TABLE)
    died = await asyncpg.connect(database_url)
    async with connection.transaction():
        await connection.execute("INSERT INTO tickwork.color VALUES (11)")
        building = asyncio.create_task(died.execute(_ON_TABLE))
        await seen(other, _BUILDS)
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await seen(other, _WAITS)
        index = await other.fetchval("SELECT 'tickwork.color_shade'::regclass::oid")
        await other.execute("INSERT INTO tickwork.color VALUES (12)")
    await building
    assert await upgrading == names
    assert await connection.fetchval("SELECT 'tickwork.color_shade'::regclass::oid") == index
    await died.close()


@pytest.mark.parametrize("step", _STEPS)
async def test_goes_on_after_it_was_interrupted_at_any_step(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, step: int
) -> None:
    names = later(_0002_index_shade__concurrently=f"{_ON_PARTITIONS} {_ON_TABLE}")
    steps = count()

    def die(name: str, said: str) -> None:
        if next(steps) == step:
            raise KeyboardInterrupt

    await _upgrade_until_it_dies(database_url, die)
    assert await migrate.upgrade(database_url) in (names, [])
    assert await indexes(connection) == [_ALL[0], ("color_shade", True), *_ALL[1:]]


async def _upgrade_until_it_dies(database_url: str, die: migrate.Progress) -> None:
    with suppress(KeyboardInterrupt, Unavailable):
        await migrate.upgrade(database_url, progress=die)


@pytest.mark.parametrize("step", _STEPS)
async def test_goes_on_after_its_connections_were_terminated_at_any_step(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, step: int
) -> None:
    names = later(_0002_index_shade__concurrently=f"{_ON_PARTITIONS} {_ON_TABLE}")
    steps = count()
    terminating: list[asyncio.Task[str]] = []

    def terminate(name: str, said: str) -> None:
        if next(steps) == step:
            terminating.append(asyncio.create_task(connection.execute(_TERMINATE)))

    await _upgrade_until_it_dies(database_url, terminate)
    await asyncio.gather(*terminating)
    assert await migrate.upgrade(database_url) in (names, [])
    assert await indexes(connection) == [_ALL[0], ("color_shade", True), *_ALL[1:]]


async def test_partitions_may_come_and_go_meanwhile(
    database_url: str, connection: asyncpg.Connection, other: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_index_shade__concurrently=_ON_PARTITIONS)
    async with connection.transaction():
        await connection.execute("INSERT INTO tickwork.paint_1 VALUES (1, 'old')")
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await seen(other, _BUILDS)
        await other.execute("CREATE TABLE tickwork.paint_3 (LIKE tickwork.paint INCLUDING CONSTRAINTS)")
        await other.execute(
            "ALTER TABLE tickwork.paint ATTACH PARTITION tickwork.paint_3 FOR VALUES FROM (3) TO (4)"
        )
        await other.execute("ALTER TABLE tickwork.paint_2 RENAME TO paint_gone")
    assert await upgrading == names
    valid = dict(await indexes(connection))
    assert valid["paint_shade"]
    assert valid["paint_shade_3"]


async def test_the_index_of_a_partitioned_table_gives_way_to_those_who_write(
    database_url: str,
    connection: asyncpg.Connection,
    other: asyncpg.Connection,
    later: LaterMigrations,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(migrate, "_TRIES", 2)
    monkeypatch.setattr(run_concurrent_statements, "MIGRATION", MIGRATION._replace(lock=1))
    names = later(_0002_index_shade__concurrently=_ON_PARTITIONS)

    def die(name: str, said: str) -> None:
        if "complete on all" in said:
            raise KeyboardInterrupt

    await _upgrade_until_it_dies(database_url, die)
    async with connection.transaction():
        await connection.execute("INSERT INTO tickwork.paint VALUES (1, 'old')")
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await seen(other, _WAITS)
        await other.execute("INSERT INTO tickwork.paint VALUES (1, 'new')")
        with pytest.raises(Unavailable, match="did not get its locks"):
            await upgrading
    assert await migrate.upgrade(database_url) == names
    assert await indexes(connection) == _ALL


async def test_several_that_upgrade_together_build_it_once(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_index_shade__concurrently=_ON_PARTITIONS)
    applied = await asyncio.gather(*(migrate.upgrade(database_url) for _ in range(3)))
    assert sorted(applied) == [[], [], names]
    assert await indexes(connection) == _ALL


async def test_drops_indexes_and_validates_constraints(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    dark = "ALTER TABLE tickwork.color ADD CONSTRAINT is_dark CHECK (shade = 'dark') NOT VALID"
    names = later(_0002_index_shade__concurrently=_ON_PARTITIONS, _0003_add_check=dark,
                  _0004_drop_shade__concurrently="""
                      DROP INDEX CONCURRENTLY tickwork.paint_shade; DROP INDEX CONCURRENTLY tickwork.never_there;
                      DROP INDEX CONCURRENTLY tickwork.color_key;
                      ALTER TABLE tickwork.color VALIDATE CONSTRAINT is_dark;
                      ALTER TABLE tickwork.paint VALIDATE CONSTRAINT known;""")  # fmt: skip
    assert await migrate.upgrade(database_url) == names
    assert await indexes(connection) == []
    assert await connection.fetchval("SELECT convalidated FROM pg_constraint WHERE conname = 'is_dark'")


async def test_rows_that_are_not_unique_are_named_and_nothing_is_left_in_the_way(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(
        _0002_index_shade__concurrently="CREATE UNIQUE INDEX CONCURRENTLY one ON tickwork.color (shade);"
    )
    with pytest.raises(asyncpg.UniqueViolationError, match="could not create unique index"):
        await migrate.upgrade(database_url)
    await connection.execute("DELETE FROM tickwork.color WHERE id > 1")
    assert await migrate.upgrade(database_url) == names
