"""A database of every release, filled by that release through its API, is upgraded by this version, and goes on."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from support.cluster import Cluster
from support.execution_history import begun_twice
from support.fill_database import GATE, HELD
from support.freeze_release import freeze, list_all
from support.postgres_programs import PROGRAMS
from support.run_command import tickwork
from support.schema_dump import SCHEMA, dump
from support.stored_release import StoredRelease, stored_releases
from support.waiting import eventually
from tickwork import __version__
from tickwork.testing import TemporaryPostgres

pytestmark = pytest.mark.skipif(
    PROGRAMS is not None, reason="databases are stored by the embedded PostgreSQL"
)
UNRELEASED = StoredRelease(f"{__version__} unreleased", Path())
RELEASES = [*stored_releases(), UNRELEASED]
_LATER = timedelta(minutes=61)  # after the database was stored, by its own clock
_WITHIN = 120.0
_PARTITIONS = "SELECT oid::regclass FROM pg_class WHERE relispartition AND relkind = 'r'"
_STATUSES = """
    SELECT DISTINCT j.name, e.status::text FROM tickwork.execution e JOIN tickwork.job j ON j.id = e.job_id
    WHERE j.name = ANY($1) ORDER BY 1, 2"""


@pytest.fixture(params=RELEASES, ids=lambda release: release.version)
async def release(
    request: pytest.FixtureRequest, postgres: TemporaryPostgres, tmp_path: Path
) -> AsyncIterator[StoredRelease]:
    """The last one is this version, stored now: so it is known before a release that it can be."""
    if request.param is not UNRELEASED:
        yield request.param
        return
    url = await postgres.create_database()
    folder, work = tmp_path / "frozen", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    yield await freeze(url, work, folder)
    await postgres.drop_database(url)


@pytest.fixture
async def loaded_url(release: StoredRelease, database_url: str, connection: asyncpg.Connection) -> str:
    await connection.execute("DROP SCHEMA tickwork CASCADE")
    await connection.execute(release.database.read_text("utf-8"))
    return database_url


@pytest.mark.timeout(600)
async def test_it_is_upgraded_lists_everything_and_goes_on(
    release: StoredRelease,
    loaded_url: str,
    connection: asyncpg.Connection,
    postgres: TemporaryPostgres,
    tmp_path: Path,
) -> None:
    upgraded = tickwork("db", "upgrade", "--database-url", loaded_url)
    assert "the database is up to date" in upgraded.stderr + upgraded.stdout, upgraded.stderr
    assert await _comparable(dump(loaded_url), postgres) == await _comparable(
        SCHEMA.read_text("utf-8"), postgres
    )

    await _set_clock(connection, release)
    cluster = Cluster(loaded_url, tmp_path)
    try:
        await cluster.add_server()
        assert await list_all(cluster.urls[0]) == release.listed.lists
        await _go_on(cluster, tmp_path)
        await _until_gone_on(connection, release.listed.goes_on)
        await _check_invariants(cluster, release)
    finally:
        cluster.clean_up()


async def _set_clock(connection: asyncpg.Connection, release: StoredRelease) -> None:
    """A while after the database was stored, however long ago that is: then tomorrow's test does what today's does."""
    await connection.execute(
        f"""CREATE OR REPLACE FUNCTION tickwork.clock() RETURNS timestamptz LANGUAGE sql STABLE AS $$
            SELECT statement_timestamp() - (timestamptz '{await connection.fetchval("SELECT now()::text")}'
                - timestamptz '{release.listed.at + _LATER}') $$"""
    )


async def _go_on(cluster: Cluster, folder: Path) -> None:
    """All that held something up is out of the way."""
    (folder / GATE).touch()
    async with cluster.client() as client:
        await client.resume_queue(HELD)
        await client.enable_task("dying")
        for breaker in (await client.list_breakers()).items:
            await client.reset_breaker(breaker.destination)
        await client.resume_cluster()
    await cluster.add_worker(options=["--allow-command", "echo", "--label", "zone=b"])


async def _until_gone_on(connection: asyncpg.Connection, wanted: dict[str, str]) -> None:
    async def others() -> set[tuple[str, str]]:
        return {*wanted.items()} ^ {
            (name, status) for name, status in await connection.fetch(_STATUSES, list(wanted))
        }

    async def has_gone_on() -> bool:
        return not await others()

    try:
        await eventually(has_gone_on, within=_WITHIN, what="the end of what was left")
    finally:
        print("not as wanted:", await others())  # noqa: T201 (shown when it fails)


async def _check_invariants(cluster: Cluster, release: StoredRelease) -> None:
    """No attempt is begun twice, nothing is gone, and what had ended before the upgrade is as it was."""
    assert begun_twice(cluster.ledger.runs()) == []
    before, after = release.listed.lists, await list_all(cluster.urls[0])
    had_ended = [each for each in before["executions"] if each[1] not in ("pending", "running")]
    assert [each for each in had_ended if each not in after["executions"]] == []
    for kind, listed in before.items():
        names = {name for name, _ in after[kind]}
        assert kind == "breakers" or {name for name, _ in listed} <= names, kind


async def _comparable(schema: str, postgres: TemporaryPostgres) -> str:
    """Without partitions, which come and go with time, and as PostgreSQL writes it when it has read it once."""
    url = await postgres.create_database()
    connection = await asyncpg.connect(url)
    await connection.execute("DROP SCHEMA tickwork CASCADE; SET check_function_bodies = off")
    await connection.execute(schema)
    for (partition,) in await connection.fetch(_PARTITIONS):
        await connection.execute(f"DROP TABLE {partition}")
    await connection.close()
    settled = dump(url)
    await postgres.drop_database(url)
    return settled
