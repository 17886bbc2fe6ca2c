"""Measures how long a large day takes to be archived, in how much memory, and how many bytes it needs.

.venv/bin/python bench/archive_day.py [--executions 2000000] [--jobs 1000]

A node with an embedded PostgreSQL archives one day to a folder, as it does by itself, and then answers a query. One
execution in a hundred failed, with an attempt and a log of three lines; the others have a result.
"""

import argparse
import asyncio
import resource
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from time import monotonic

import asyncpg

from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.model.archive import Manifest
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.record.archive.archive_storage import FolderLocation
from tickwork.record.archive.part_files import verify_files
from tickwork.record.archive.read_archive import manifests, query
from tickwork.store.embedded.server import EmbeddedPostgres
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database

_HISTORY_DAYS = 3
_MB = 1e6
_QUERY = (
    "SELECT job_name, count(*) FROM executions WHERE status = 'failed' GROUP BY 1 ORDER BY 2 DESC LIMIT 10"
)
_EXECUTIONS = """
WITH made AS (
    INSERT INTO tickwork.execution (scheduled_for, job_id, started_at, finished_at, tenant_id, lane_id, worker_id,
        status, trigger, priority, failures, result)
    SELECT at, j.id, at, at + interval '1 second', 1, j.lane_id, 1,
        (CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'completed' END)::tickwork.execution_status, 'schedule', j.priority,
        CASE WHEN n % 100 = 0 THEN 1 ELSE 0 END,
        CASE WHEN n % 100 <> 0 THEN
            convert_to(format('{"rows":%s,"file":"report-%s-%s.csv"}', (n::bigint * 7919) % 99991, j.id, n), 'UTF8') END
    FROM generate_series($1::int, $2::int) AS n
    JOIN (SELECT id, lane_id, priority, row_number() OVER (ORDER BY id) - 1 AS number, count(*) OVER () AS jobs
          FROM tickwork.job) j ON j.number = n % j.jobs
    CROSS JOIN LATERAL (SELECT $3::timestamptz + n * interval '1 day' / $4::int AS at) due
    RETURNING scheduled_for, job_id, status, finished_at
), attempts AS (
    INSERT INTO tickwork.attempt (scheduled_for, job_id, tenant_id, attempt, outcome, worker_id, started_at,
        finished_at, error)
    SELECT scheduled_for, job_id, 1, 1, 'failed', 1, scheduled_for, finished_at,
        convert_to(format('{"type":"ConnectionError","message":"no answer from host-%s"}', job_id % 97), 'UTF8')
    FROM made WHERE status = 'failed'
)
INSERT INTO tickwork.log (scheduled_for, job_id, tenant_id, attempt, first_line, line_count, lines)
SELECT scheduled_for, job_id, 1, 1, 0, 3, convert_to(format(
    '[[%1$s,"info","connecting to host-%2$s"],[%1$s,"warning","no answer yet"],[%1$s,"error","gave up"]]',
    tickwork.micros(scheduled_for), job_id % 97), 'UTF8')
FROM made WHERE status = 'failed'
"""
_SIZE = """
SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables
WHERE schemaname = 'tickwork' AND relname ~ ('_' || $1::text || '$')
"""
_TOGETHER = 100_000  # executions
_MOST_JOBS = 5000  # that are created at once


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--executions", type=int, default=2_000_000)
    parser.add_argument("--jobs", type=int, default=1000)
    options = parser.parse_args()
    build = Path.cwd() / "build"
    build.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="archive-day-", dir=build))
    configure_logs("console", "error")
    try:
        asyncio.run(_measure(folder, min(options.jobs, _MOST_JOBS), options.executions))
    finally:
        EmbeddedPostgres(folder / "data").stop()
        shutil.rmtree(folder)


async def _measure(folder: Path, jobs: int, executions: int) -> None:
    day = datetime.combine(datetime.now(UTC).date() - timedelta(days=_HISTORY_DAYS + 1), time(), UTC)
    archive = folder / "archive"
    settings = Settings(
        data_dir=folder / "data", archive_url=str(archive), history_days=_HISTORY_DAYS, http=False
    )
    async with _open_node(settings) as node:
        in_tables = await _fill(node, day, jobs, executions)
        print(f"{executions:,} executions, {in_tables / _MB:,.0f} MB in the database")
        before, began = _peak(), monotonic()
        await node.step("maintain partitions")
        while await node.step("archive history"):
            pass
        seconds = monotonic() - began
    location = FolderLocation(archive)
    found = [each for each in manifests(location) if each.rows("executions")]
    _say_archived(found, executions, in_tables, seconds)
    print(f"the process had {before:,.0f} MB of memory before, and {_peak():,.0f} MB at most")
    began = monotonic()
    for manifest in found:
        verify_files(location, manifest)
    print(f"tickwork archive verify: {monotonic() - began:.1f} s")
    began = monotonic()
    list(query(location, found, _QUERY).rows)
    print(f"failures by job, over the day: {monotonic() - began:.2f} s")


def _say_archived(found: list[Manifest], executions: int, in_tables: int, seconds: float) -> None:
    (manifest,) = found
    if manifest.rows("executions") != executions:
        raise SystemExit(f"{manifest.rows('executions'):,} executions are in the archive")
    print(f"archived and dropped in {seconds:,.0f} s: {executions / seconds:,.0f} executions/s")
    size = manifest.bytes
    print(
        f"{size / _MB:,.0f} MB, {size / executions:.0f} bytes for each, {size / in_tables:.1%} of the tables"
    )


@asynccontextmanager
async def _open_node(settings: Settings) -> AsyncIterator[Node]:
    node = Node(settings)
    await node.open()
    try:
        yield node
    finally:
        await node.stop()


async def _fill(node: Node, day: datetime, jobs: int, executions: int) -> int:
    """How many bytes the tables of the day have."""
    target = HttpTarget(url="https://target.example.com/")
    await node.jobs.create(
        1,
        [
            JobRequest(http=target, name=f"report {n}", schedule="every 1h", tags=["daily"])
            for n in range(jobs)
        ],
    )
    database = Database(node.database_url, size=1)
    await database.open()
    maker = Partitions(database, _HISTORY_DAYS + 2)
    await maker.make_ahead()
    await maker.make_for([day])
    await database.close()
    connection = await asyncpg.connect(node.database_url)
    try:
        for begin in range(0, executions, _TOGETHER):
            last = min(begin + _TOGETHER, executions) - 1
            await connection.execute(_EXECUTIONS, begin, last, day, executions)
        await connection.execute("VACUUM ANALYZE tickwork.execution")
        return int(await connection.fetchval(_SIZE, f"{day:%Y%m%d}"))
    finally:
        await connection.close()


def _peak() -> float:
    """The most memory that this process had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
