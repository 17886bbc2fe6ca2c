"""The schema moves forward once, under a lock, and never under a program that does not understand it."""

import asyncio
from itertools import chain
from pathlib import Path

import asyncpg
import pytest

from tickwork.model.errors import WrongSchema
from tickwork.store import migrate


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
    with pytest.raises(WrongSchema, match=r"0001_spine\.sql was changed"):
        await migrate.upgrade(database_url)


def test_every_migration_is_named_by_its_number() -> None:
    numbers = [migration.number for migration in migrate.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_query_has_a_sentence_above_it() -> None:
    folder = Path(migrate.__file__).parent / "queries"
    for file in folder.glob("*.sql"):
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            if line.startswith("-- name: "):
                assert lines[number + 1].startswith("-- "), f"{file.name}: {line}"
