"""After an upgrade by a newer version, this one is started again: it goes on, or says why it must not."""

from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import asyncpg
import pytest

from support.cluster import Cluster, Program
from support.release_tree import copy_of_this_code
from support.run_command import tickwork

ADDS = ("0002_add_color_to_jobs.sql", "ALTER TABLE tickwork.job ADD color text NOT NULL DEFAULT 'white'")
RENAMES = ("0003_rename_owner_of_jobs.needs_0002.sql", "ALTER TABLE tickwork.job RENAME owner TO keeper")

INDEXES = (
    "0002_index_tenants.concurrently.sql",
    "CREATE INDEX CONCURRENTLY tenant_age ON tickwork.tenant (created_at);",
)
FILLS = (
    "0003_fill_secret_of_tenants.batches.sql",
    """WITH batch AS (SELECT id FROM tickwork.tenant WHERE id > coalesce($1::jsonb::int, -1) ORDER BY id LIMIT 1)
       SELECT to_jsonb(max(id)) AS place, count(*) AS rows FROM batch""",
)


@pytest.fixture
def processes(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(database_url, tmp_path)
    yield cluster
    cluster.clean_up()


def newer(folder: Path, *migrations: tuple[str, str]) -> Path:
    """The code of a newer release: this one with more migrations."""
    tree = copy_of_this_code(folder)
    for name, sql in migrations:
        (tree / "src" / "tickwork" / "store" / "migrations" / name).write_text(sql)
    return tree


def try_to_upgrade(tree: Path, database_url: str, *options: str) -> CompletedProcess[str]:
    return tickwork("db", "upgrade", "--database-url", database_url, *options, PYTHONPATH=str(tree / "src"))


def upgrade(tree: Path, database_url: str) -> None:
    done = try_to_upgrade(tree, database_url)
    assert done.returncode == 0, done.stderr


async def test_the_previous_release_goes_on_with_a_database_that_was_added_to(
    processes: Cluster, connection: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    """Upgraded while it runs, replaced by the newer release, and started again."""
    tree = newer(tmp_path / "newer", ADDS)
    server = await processes.add_server()
    worker = await processes.add_worker()
    upgrade(tree, database_url)
    assert await connection.fetchval("SELECT max(number) FROM tickwork.migration") == 2
    async with processes.client() as client:
        for release in (None, tree, None):
            for program in (server, worker):
                program.tree = release
                await program.stop()
                await program.start()
            job = await client.create_job(task="quick")
            execution = await client.wait_for_job(job.id, timeout=60)
            assert (execution.status, execution.attempt) == ("completed", 1)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job WHERE color = 'white'") == 3


async def test_a_release_that_is_too_old_for_the_database_does_not_start_and_says_what_to_do(
    processes: Cluster, database_url: str, tmp_path: Path
) -> None:
    upgrade(newer(tmp_path / "newer", ADDS, RENAMES), database_url)
    server = Program(
        "old", ["server", "--port", "0"], says="Tickwork answers on ", folder=tmp_path,
        env={"TICKWORK_DATABASE_URL": database_url, "TICKWORK_DATA_DIR": str(tmp_path)},
    )  # fmt: skip
    server.launch()
    assert await server.ended() != 0
    assert "this version cannot work with 0003_rename_owner_of_jobs.needs_0002.sql" in server.log
    assert "start the newer version; to go back, restore a backup from before the upgrade" in server.log


async def test_a_release_that_knows_what_a_migration_needs_goes_on(
    processes: Cluster, connection: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    """The last step of expand and contract: the previous release goes on, the one before does not."""
    previous = newer(tmp_path / "previous", ADDS)
    upgrade(previous, database_url)
    upgrade(
        newer(
            tmp_path / "newer",
            ADDS,
            ("0003_drop_color_of_jobs.needs_0002.sql", "ALTER TABLE tickwork.job DROP color"),
        ),
        database_url,
    )
    server = await processes.add_server(tree=previous)
    assert server.works
    assert await connection.fetchval("SELECT max(number) FROM tickwork.migration") == 3


async def test_a_running_server_that_would_be_too_old_is_not_shut_out_by_mistake(
    processes: Cluster, connection: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    tree = newer(tmp_path / "newer", ADDS, RENAMES)
    server = await processes.add_server()
    refused = try_to_upgrade(tree, database_url)
    assert refused.returncode == 1
    assert "cannot work with 0003_rename_owner_of_jobs.needs_0002.sql" in refused.stderr
    assert "tickwork db upgrade --allow-older-nodes" in refused.stderr
    assert await connection.fetchval("SELECT max(number) FROM tickwork.migration") == 1
    assert await server.stop() == 0
    upgrade(tree, database_url)
    assert await connection.fetchval("SELECT max(number) FROM tickwork.migration") == 3


async def test_indexes_and_batches_show_their_progress(
    connection: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    done = try_to_upgrade(newer(tmp_path / "newer", INDEXES, FILLS), database_url)
    assert done.returncode == 0, done.stderr
    assert "0002_index_tenants.concurrently.sql: index tenant_age: building" in done.stderr
    assert "0003_fill_secret_of_tenants.batches.sql: 1 rows so far" in done.stderr
