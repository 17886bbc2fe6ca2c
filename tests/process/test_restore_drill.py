"""The drill of docs/operate/backup.md: stop, restore, prepare, look, choose, go. No id is issued twice."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from support.cluster import KEY, Cluster
from support.run_command import tickwork
from support.server_backup import ServerBackup
from support.stoppable_postgres import StoppablePostgres
from support.up_process import Up
from support.waiting import eventually, eventually_without_loop
from tickwork.client.async_client import AsyncClient
from tickwork.model.errors import NotFound
from tickwork.model.public_ids import parse_job_id


def done(*words: str | Path, **env: str) -> str:
    run = tickwork(*words, **env)
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


@pytest.fixture
def started() -> Iterator[list[Up]]:
    started: list[Up] = []
    yield started
    for up in started:
        up.kill()


@pytest.mark.timeout(240)
def test_an_embedded_database_comes_back_quietly_and_goes_on_as_chosen(
    tmp_path: Path, started: list[Up]
) -> None:
    old = Up(tmp_path / "data")
    started.append(old)
    with old.client() as client:
        tick = client.create_job(
            task="tasks.hello", payload={"name": "tick"}, schedule="every 1s", name="tick"
        )
        slow = client.create_job(task="tasks.slow", payload={"seconds": 600}, name="slow")
        eventually_without_loop(lambda: client.list_executions(job=slow.id, status="running").items)
        eventually_without_loop(lambda: client.list_executions(job=tick.id, status="completed").items)
        done("db", "backup", tmp_path / "backup", "--data-dir", tmp_path / "data")
        assert client.get_cluster().backed_up_at
        lost = [client.create_job(task="tasks.hello", payload={"name": "lost"}).id for _ in range(3)]
        lost_key = client.create_key("lost", scopes=["read"]).id
        last_event = client.list_events(limit=1).items[0].id
    old.kill()
    said = done("db", "restore", tmp_path / "backup", "--data-dir", tmp_path / "restored")
    assert "the cluster is paused" in said

    restored = Up(tmp_path / "restored")
    started.append(restored)
    at = {"TICKWORK_DATA_DIR": str(tmp_path / "restored")}
    with restored.client() as client:
        fired = len(client.list_executions(job=tick.id, limit=500).items)
        due = client.get_resume_report().missed[0].due
        eventually_without_loop(lambda: client.get_resume_report().missed[0].due >= due + 3)  # time passes
        assert len(client.list_executions(job=tick.id, limit=500).items) == fired
        status = tickwork("status", **at)
        assert status.returncode == 1
        assert "the cluster is paused" in status.stderr
        report = done("cluster", "report", **at)
        for word in ("tick", "slow", "1 jobs were due"):
            assert word in report
        assert re.search("[12] executions were interrupted", report)  # tick may have been running, too
        for job in lost:
            with pytest.raises(NotFound):
                client.get_job(job)
        new = client.create_job(task="tasks.hello", payload={"name": "new"})
        assert parse_job_id(new.id) > max(map(parse_job_id, lost)) + 1_000_000
        assert client.create_key("new", scopes=["read"]).id != lost_key
        eventually_without_loop(lambda: client.list_events(limit=1).items[0].id > last_event)

        said = done("cluster", "resume", "--missed", "skip", "--running", "cancel", **at)
        assert "the cluster goes on; 1 schedules skipped" in said
        assert client.wait_for_job(new.id, timeout=60).result == "hello new"
        (interrupted,) = client.list_executions(job=slow.id).items
        assert (interrupted.status, interrupted.reason) == (
            "cancelled",
            "cancelled when the cluster was resumed",
        )
        eventually_without_loop(
            lambda: len(client.list_executions(job=tick.id, status="completed", limit=500).items) > fired
        )
        assert tickwork("cluster", "resume", **at).returncode == 4
    restored.stop()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[StoppablePostgres]:
    server = StoppablePostgres(tmp_path / "old")
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def restored(tmp_path: Path) -> AsyncIterator[StoppablePostgres]:
    restored = StoppablePostgres(tmp_path / "new")
    yield restored
    restored.stop()


@pytest.mark.timeout(240)
async def test_a_server_is_restored_from_a_base_backup_and_the_wal_without_losing_an_acknowledged_job(
    server: StoppablePostgres, restored: StoppablePostgres, tmp_path: Path
) -> None:
    cluster = Cluster(server.url, tmp_path)
    backup = ServerBackup(server, tmp_path)
    backup.start_receiving()
    try:
        await cluster.start(servers=1, workers=1)
        async with cluster.client() as client:
            before = [(await client.create_job(task="quick")).id for _ in range(20)]
            backup.take_base()
            after = [(await client.create_job(task="quick")).id for _ in range(20)]
            await client.create_job(task="gated", payload={"gate": "closed"}, name="interrupted")
            await eventually(
                lambda: _is_running(client, "interrupted"), within=30, what="the one that is interrupted"
            )
        assert await asyncio.to_thread(_is_received, server, backup)
        server.kill()
        cluster.servers[0].kill()
        backup.stop_receiving()
        backup.restore(restored)
        await eventually(lambda: _is_primary(restored), within=60, what="the end of the recovery")

        said = await asyncio.to_thread(done, "db", "after-restore", TICKWORK_DATABASE_URL=restored.url)
        assert "the cluster is paused" in said
        again = Cluster(restored.url, tmp_path)
        again.ledger = cluster.ledger
        await again.add_server()
        async with again.client() as client:
            assert [(await client.get_job(job)).id for job in before + after] == before + after
            report = await client.get_resume_report()
            assert [each.name for each in report.interrupted] == ["interrupted"]
            new = await client.create_job(task="quick")
            assert parse_job_id(new.id) > max(map(parse_job_id, before + after)) + 1_000_000
            await client.resume_cluster(running="cancel")
            await again.add_worker()  # that of before knows only the server that is gone
            assert (await client.wait_for_job(new.id, timeout=60)).status == "completed"
        again.clean_up()
    finally:
        backup.stop_receiving()
        cluster.clean_up()


async def _is_running(client: AsyncClient, name: str) -> bool:
    items = (await client.list_executions(status="running")).items
    return bool(items) and bool(name)


def _is_received(server: StoppablePostgres, backup: ServerBackup) -> bool:
    """All WAL so far is with the receiver: it confirms at once what it has written."""

    async def received() -> bool:
        connection = await asyncpg.connect(server.url)
        try:
            row = await connection.fetchrow(
                "SELECT pg_current_wal_flush_lsn() AS written, flush_lsn FROM pg_stat_replication"
            )
            return row is not None and row["flush_lsn"] is not None and row["flush_lsn"] >= row["written"]
        finally:
            await connection.close()

    return eventually_without_loop(lambda: asyncio.run(received()), within=30)


async def _is_primary(restored: StoppablePostgres) -> bool:
    try:
        connection = await asyncpg.connect(restored.url)
    except (OSError, asyncpg.PostgresError):
        return False
    try:
        return not await connection.fetchval("SELECT pg_is_in_recovery()")
    finally:
        await connection.close()


async def test_a_database_in_use_is_not_prepared(database_url: str, tmp_path: Path) -> None:
    cluster = Cluster(database_url, tmp_path)
    await cluster.add_server()
    try:
        run = await asyncio.to_thread(tickwork, "db", "after-restore", TICKWORK_DATABASE_URL=database_url)
        assert run.returncode == 4
        assert "stop them first" in run.stderr
        async with AsyncClient(cluster.urls[0], KEY) as client:
            assert (await client.get_cluster()).paused is None
    finally:
        cluster.clean_up()
