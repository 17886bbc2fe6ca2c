"""The steps of docs/operate/second-region.md: the primary is gone, its standby takes over, and workers find it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from support.cluster import Cluster
from support.run_command import tickwork
from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually
from tickwork.model.public_ids import parse_job_id


@pytest.fixture
async def regions(tmp_path: Path) -> AsyncIterator[tuple[StoppablePostgres, StoppablePostgres]]:
    primary, standby = StoppablePostgres(tmp_path / "a"), StoppablePostgres(tmp_path / "b")
    primary.start()
    standby.follow(primary)
    yield primary, standby
    standby.stop()
    primary.stop()


async def has_received_all(primary: StoppablePostgres) -> bool:
    connection = await asyncpg.connect(primary.url)
    try:
        row = await connection.fetchrow(
            "SELECT pg_current_wal_flush_lsn() AS written, replay_lsn FROM pg_stat_replication"
        )
        return row is not None and row["replay_lsn"] is not None and row["replay_lsn"] >= row["written"]
    finally:
        await connection.close()


@pytest.mark.timeout(240)
async def test_the_standby_takes_over_and_issues_no_id_twice(
    regions: tuple[StoppablePostgres, StoppablePostgres], tmp_path: Path
) -> None:
    primary, standby = regions
    region_a, region_b = Cluster(primary.url, tmp_path), Cluster(standby.url, tmp_path)
    region_b.ledger = region_a.ledger
    try:
        await region_a.start(servers=2, workers=1)
        await region_a.workers[0].stop()  # its tasks are known now, and jobs wait
        async with region_a.client() as client:
            kept = [(await client.create_job(task="quick")).id for _ in range(20)]
            await client.create_job(task="quick", schedule="every 1s", key="often")
            await eventually(lambda: has_received_all(primary), within=30, what="the standby")
        for server in region_a.servers:
            server.kill()
        primary.kill()

        await asyncio.to_thread(standby._pg_ctl, "promote")
        done = await asyncio.to_thread(
            tickwork, "db", "after-restore", "--wait-for-database", "60s", TICKWORK_DATABASE_URL=standby.url
        )
        assert done.returncode == 0, done.stderr
        await region_b.add_server()
        worker = await region_b.add_worker(urls=[*region_a.urls, *region_b.urls])  # the dead ones first
        async with region_b.client() as client:
            assert [(await client.get_job(job)).id for job in kept] == kept
            report = await client.get_resume_report()
            assert report.missed_jobs == 1
            assert {each.job_id for each in report.overdue if each.one_time} == set(kept)
            new = await client.create_job(task="quick")
            assert parse_job_id(new.id) > max(map(parse_job_id, kept)) + 1_000_000
            await client.resume_cluster()
            for job in [*kept, new.id]:
                assert (await client.wait_for_job(job, timeout=60)).status == "completed"
        assert worker.works
    finally:
        region_b.clean_up()
        region_a.clean_up()
