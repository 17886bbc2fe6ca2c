"""The schema moves forward once, under a lock, and never under a program that does not understand it."""

import asyncio
import re
from itertools import chain

import asyncpg
import pytest

from support.postgres_programs import PROGRAMS
from support.schema_dump import SCHEMA, dump
from tickwork.model.errors import WrongSchema
from tickwork.store import migrate
from tickwork.store.pool import Database

_VERB_AND_OBJECT = re.compile(
    r"\d{4}_(add|change|create|drop|fill|index|merge|move|rename|split)(_[a-z0-9]+)+(\.breaking)?\.sql"
)


@pytest.fixture
async def empty_url(cluster: str, database_url: str) -> str:
    connection = await asyncpg.connect(database_url)
    await connection.execute("DROP SCHEMA tickwork CASCADE")
    await connection.close()
    return database_url


async def test_applies_everything_once(empty_url: str) -> None:
    names = [migration.name for migration in migrate.migrations()]
    assert (await migrate.status(empty_url)).pending == names
    assert await migrate.upgrade(empty_url) == names
    assert await migrate.upgrade(empty_url) == []
    status = await migrate.status(empty_url)
    assert (status.current, status.pending) == (status.latest, [])


async def test_many_nodes_starting_together_apply_it_once(empty_url: str) -> None:
    applied = await asyncio.gather(*(migrate.upgrade(empty_url) for _ in range(5)))
    assert list(chain(*applied)) == [migration.name for migration in migrate.migrations()]


async def test_whoever_finds_everything_applied_waits_for_nobody(
    database_url: str, connection: asyncpg.Connection
) -> None:
    database = Database(database_url, size=1)
    await database.open()
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", migrate._LOCK)
        assert await migrate.upgrade(database_url, database) == []
    await connection.execute("DROP SCHEMA tickwork CASCADE")
    assert await migrate.upgrade(database_url, database) == [each.name for each in migrate.migrations()]
    await database.close()


async def test_refuses_a_database_that_a_newer_program_changed_for_good(
    database_url: str, connection: asyncpg.Connection
) -> None:
    await connection.execute(
        "INSERT INTO tickwork.migration (number, name, checksum, breaking) VALUES (9999, '9999_new.sql', 'x', true)"
    )
    with pytest.raises(WrongSchema, match="upgrade Tickwork"):
        await migrate.upgrade(database_url)


async def test_goes_on_with_a_database_that_a_newer_program_only_added_to(
    database_url: str, connection: asyncpg.Connection
) -> None:
    await connection.execute(
        "INSERT INTO tickwork.migration (number, name, checksum, breaking) VALUES (9999, '9999_new.sql', 'x', false)"
    )
    assert await migrate.upgrade(database_url) == []


async def test_refuses_a_migration_that_was_changed_after_it_was_applied(
    database_url: str, connection: asyncpg.Connection
) -> None:
    await connection.execute("UPDATE tickwork.migration SET checksum = 'other' WHERE number = 1")
    with pytest.raises(WrongSchema, match=r"0001_initial\.sql was changed"):
        await migrate.upgrade(database_url)


def test_every_migration_is_named_by_its_number() -> None:
    numbers = [migration.number for migration in migrate.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_migration_after_the_first_is_named_by_a_verb_and_its_object() -> None:
    first, *later = [migration.name for migration in migrate.migrations()]
    assert first == "0001_initial.sql"
    assert [name for name in later if not _VERB_AND_OBJECT.fullmatch(name)] == []


@pytest.mark.parametrize("name", ["0002_add_limits_to_queues.sql", "0010_drop_job_color.breaking.sql"])
def test_a_verb_and_an_object_make_a_name(name: str) -> None:
    assert _VERB_AND_OBJECT.fullmatch(name)


@pytest.mark.parametrize("name", ["0002_speed.sql", "0003_add.sql", "0004_isolate_rows.sql"])
def test_a_riddle_is_no_name(name: str) -> None:
    assert not _VERB_AND_OBJECT.fullmatch(name)


@pytest.mark.skipif(PROGRAMS is not None, reason="the schema is dumped from the embedded PostgreSQL")
async def test_the_dumped_schema_is_what_the_migrations_make(empty_url: str) -> None:
    await migrate.upgrade(empty_url)
    assert dump(empty_url) == SCHEMA.read_text("utf-8"), "run `make schema`"
