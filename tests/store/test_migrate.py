"""The schema moves forward once, under a lock, and never under a program that does not understand it."""

import asyncio
import re
from itertools import chain

import asyncpg
import pytest

from support.later_migrations import LaterMigrations
from support.postgres_programs import PROGRAMS
from support.schema_dump import SCHEMA, dump
from tickwork.model.errors import Unavailable, WrongSchema
from tickwork.store import migrate
from tickwork.store.connect_to_any_host import MIGRATION
from tickwork.store.migration_file import migrations, read_migration
from tickwork.store.pool import Connection, Database

_VERB_AND_OBJECT = re.compile(
    r"\d{4}_(add|change|create|drop|fill|index|merge|move|rename|split)(_[a-z0-9]+)+(\.needs_\d{4})?(\.batches|\.concurrently)?\.sql"
)
_NEWER = (
    "INSERT INTO tickwork.migration (number, name, checksum, needs) VALUES (9999, '9999_new.sql', 'x', $1)"
)
_COLORS = "CREATE TABLE color (id integer PRIMARY KEY); INSERT INTO color SELECT generate_series(1, 10)"
_FILL_FOUR = """
    UPDATE color SET shade = 'dark' WHERE id IN (SELECT id FROM color WHERE shade IS NULL ORDER BY id LIMIT 4)"""


@pytest.fixture
async def empty_url(cluster: str, database_url: str) -> str:
    connection = await asyncpg.connect(database_url)
    await connection.execute("DROP SCHEMA tickwork CASCADE")
    await connection.close()
    return database_url


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> LaterMigrations:
    monkeypatch.setattr(migrate, "_TELL_INTERVAL", 0)
    return LaterMigrations(monkeypatch)


async def test_applies_everything_once(empty_url: str) -> None:
    names = [migration.name for migration in migrations()]
    assert (await migrate.status(empty_url)).pending == names
    assert await migrate.upgrade(empty_url) == names
    assert await migrate.upgrade(empty_url) == []
    status = await migrate.status(empty_url)
    assert (status.current, status.pending) == (status.latest, [])


async def test_many_nodes_starting_together_apply_it_once(empty_url: str) -> None:
    applied = await asyncio.gather(*(migrate.upgrade(empty_url) for _ in range(5)))
    assert list(chain(*applied)) == [migration.name for migration in migrations()]


async def test_whoever_finds_everything_applied_waits_for_nobody(
    database_url: str, connection: asyncpg.Connection
) -> None:
    database = Database(database_url, size=1)
    await database.open()
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", migrate._LOCK)
        assert await migrate.upgrade(database_url, database) == []
    await connection.execute("DROP SCHEMA tickwork CASCADE")
    assert await migrate.upgrade(database_url, database) == [each.name for each in migrations()]
    await database.close()


@pytest.mark.parametrize("needs", [2, 9999])
async def test_refuses_a_database_that_a_newer_program_changed_for_good(
    database_url: str, connection: asyncpg.Connection, needs: int
) -> None:
    await connection.execute(_NEWER, needs)
    with pytest.raises(WrongSchema, match=r"cannot work with 9999_new\.sql.*newer version.*restore a backup"):
        await migrate.upgrade(database_url)


@pytest.mark.parametrize("needs", [0, 1])
async def test_goes_on_with_a_database_that_newer_programs_changed_with_care(
    database_url: str, connection: asyncpg.Connection, needs: int
) -> None:
    await connection.execute(_NEWER, needs)
    assert await migrate.upgrade(database_url) == []


async def test_refuses_a_migration_that_was_changed_after_it_was_applied(
    database_url: str, connection: asyncpg.Connection
) -> None:
    await connection.execute("UPDATE tickwork.migration SET checksum = 'other' WHERE number = 1")
    with pytest.raises(WrongSchema, match=r"0001_initial\.sql was changed"):
        await migrate.upgrade(database_url)


def test_every_migration_is_named_by_its_number() -> None:
    numbers = [migration.number for migration in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_migration_after_the_first_is_named_by_a_verb_and_its_object() -> None:
    first, *later = [migration.name for migration in migrations()]
    assert first == "0001_initial.sql"
    assert [name for name in later if not _VERB_AND_OBJECT.fullmatch(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "0002_add_limits_to_queues.sql",
        "0010_drop_job_color.needs_0008.sql",
        "0011_fill_job_color.batches.sql",
        "0012_index_job_color.concurrently.sql",
    ],
)
def test_a_verb_and_an_object_make_a_name(name: str) -> None:
    assert _VERB_AND_OBJECT.fullmatch(name)


@pytest.mark.parametrize("name", ["0002_speed.sql", "0003_add.sql", "0004_isolate_rows.sql"])
def test_a_riddle_is_no_name(name: str) -> None:
    assert not _VERB_AND_OBJECT.fullmatch(name)


def test_a_migration_that_needs_a_later_one_is_no_migration() -> None:
    with pytest.raises(WrongSchema, match="needs a later migration"):
        read_migration("0002_drop_color.needs_0003.sql", b"")


async def test_one_that_goes_in_batches_commits_each_of_them_and_says_how_far_it_is(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    await connection.execute(_COLORS)
    names = later(_0002_add_shade="ALTER TABLE color ADD shade text", _0003_fill_shade__batches=_FILL_FOUR,
                  _0004_add_hue="ALTER TABLE color ADD hue text")  # fmt: skip
    told: list[tuple[str, str]] = []
    assert await migrate.upgrade(database_url, progress=lambda *each: told.append(each)) == names
    assert told == [(names[1], f"{rows} rows so far") for rows in (4, 8, 10)]
    assert await connection.fetchval("SELECT count(DISTINCT xmin::text) FROM color") == len(told)
    assert (await migrate.status(database_url)).pending == []


async def test_one_that_was_interrupted_goes_on_with_what_is_left(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    await connection.execute(_COLORS)
    names = later(_0002_add_shade="ALTER TABLE color ADD shade text", _0003_fill_shade__batches=_FILL_FOUR)

    def die(name: str, said: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await migrate.upgrade(database_url, progress=die)
    status = await migrate.status(database_url)
    assert status.pending == names[1:]
    (under_way,) = status.under_way
    assert under_way.startswith("0003_fill_shade.batches.sql: 4 rows so far, begun at 20")
    before = await connection.fetch("SELECT id, xmin FROM color WHERE shade IS NOT NULL")
    assert len(before) == 4
    assert await migrate.upgrade(database_url) == names[1:]
    after = await connection.fetch(
        "SELECT id, xmin FROM color WHERE id = ANY($1)", [row["id"] for row in before]
    )
    assert {*after} == {*before}
    assert (await migrate.status(database_url)).under_way == []


async def test_several_that_upgrade_together_share_the_batches(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    await connection.execute(_COLORS)
    names = later(_0002_add_shade="ALTER TABLE color ADD shade text", _0003_fill_shade__batches=_FILL_FOUR)
    applied = await asyncio.gather(*(migrate.upgrade(database_url) for _ in range(3)))
    assert sorted(chain(*applied)) == names
    assert await connection.fetchval("SELECT count(*) FROM color WHERE shade IS NULL") == 0


async def test_one_that_gets_no_lock_lets_others_go_first_and_tries_again(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "_PAUSE", 0)
    monkeypatch.setattr(migrate, "MIGRATION", MIGRATION._replace(lock=1))
    begun, begin = asyncio.Semaphore(0), migrate._lock

    async def begin_and_tell(connection: Connection) -> None:
        begun.release()
        await begin(connection)

    monkeypatch.setattr(migrate, "_lock", begin_and_tell)
    await connection.execute(_COLORS)
    names = later(_0002_add_shade="ALTER TABLE color ADD shade text")
    async with connection.transaction():
        await connection.execute("LOCK TABLE color IN ACCESS SHARE MODE")
        upgrading = asyncio.create_task(migrate.upgrade(database_url))
        await begun.acquire()
        await begun.acquire()
    assert await upgrading == names


async def test_one_that_never_gets_its_locks_says_what_to_do(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "_PAUSE", 0)
    monkeypatch.setattr(migrate, "_TRIES", 2)
    monkeypatch.setattr(migrate, "MIGRATION", MIGRATION._replace(lock=1))
    await connection.execute(_COLORS)
    later(_0002_add_shade="ALTER TABLE color ADD shade text")
    async with connection.transaction():
        await connection.execute("LOCK TABLE color IN ACCESS SHARE MODE")
        with pytest.raises(Unavailable, match="end long transactions on the tables of Tickwork"):
            await migrate.upgrade(database_url)
    assert (await migrate.status(database_url)).pending == ["0002_add_shade.sql"]


@pytest.mark.skipif(PROGRAMS is not None, reason="the schema is dumped from the embedded PostgreSQL")
async def test_the_dumped_schema_is_what_the_migrations_make(empty_url: str) -> None:
    await migrate.upgrade(empty_url)
    assert dump(empty_url) == SCHEMA.read_text("utf-8"), "run `make schema`"
