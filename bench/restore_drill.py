"""Measures a restore of the embedded database, step by step, as docs/operate/backup.md describes it.

.venv/bin/python bench/restore_drill.py [--jobs 100000] [--executions 1000000]
"""

import argparse
import asyncio
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

import asyncpg

from tickwork.cli.admin_key_and_server_file import save_admin_key
from tickwork.client.find_server import find_server
from tickwork.client.sync_client import Client
from tickwork.config import Settings
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.store.embedded.server import EmbeddedPostgres

_TOGETHER = 5000
_TARGET = HttpTarget(url="https://target.example.com/")
_EXECUTIONS = """
INSERT INTO tickwork.execution (scheduled_for, job_id, started_at, finished_at, tenant_id, lane_id, worker_id, status,
    trigger, priority, result)
SELECT at, j.id, at, at + interval '1 second', 1, j.lane_id, 1, 'completed', 'schedule', j.priority,
    convert_to(format('{"rows":%s,"file":"report-%s.csv"}', j.id, n), 'UTF8')
FROM generate_series(1, $1::int) AS n
CROSS JOIN LATERAL (SELECT $2::timestamptz + n * interval '1 second' AS at) due CROSS JOIN tickwork.job j
"""


def main() -> None:
    options = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="restore-drill-", dir=Path.cwd() / "build"))
    try:
        _measure(folder, options.jobs, options.executions)
    finally:
        for name in ("data", "restored"):
            EmbeddedPostgres(folder / name).stop()
        shutil.rmtree(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--executions", type=int, default=1_000_000)
    return parser.parse_args()


def _measure(folder: Path, jobs: int, executions: int) -> None:
    with _timed(f"filling it with {jobs:,} jobs and {executions:,} executions"):
        size = asyncio.run(_fill(folder / "data", jobs, executions))
    _say(f"the database has {size / 1e6:,.0f} MB")
    with _timed("tickwork db backup"):
        _tickwork("db", "backup", folder / "file", "--data-dir", folder / "data")
    _say(f"the backup has {(folder / 'file').stat().st_size / 1e6:,.0f} MB")
    with _timed("tickwork db restore"):
        _tickwork("db", "restore", folder / "file", "--data-dir", folder / "restored")
    with _timed("tickwork up, until it answers"):
        server = _up(folder / "restored")
    try:
        with Client(*find_server(data_dir=folder / "restored", env={})) as client:
            with _timed("tickwork cluster report"):
                report = client.get_resume_report(limit=50)
            _say(f"{report.missed_jobs:,} jobs were due")
            with _timed("tickwork cluster resume --missed skip"):
                while not client.resume_cluster(missed="skip").resumed:
                    pass
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


async def _fill(data: Path, jobs: int, executions: int) -> int:
    node = Node(Settings(data_dir=data))
    await node.open()
    try:
        save_admin_key(data, node.first_key or "")
        requests = [JobRequest(http=_TARGET, name=f"report {n}", schedule="every 1h") for n in range(jobs)]
        for begin in range(0, jobs, _TOGETHER):
            await node.jobs.create(1, requests[begin : begin + _TOGETHER])
        connection = await asyncpg.connect(node.database_url)
        try:
            noon: datetime = await connection.fetchval("SELECT date_trunc('day', now())")
            rounds = max(executions // jobs, 1)
            await connection.execute(_EXECUTIONS, rounds, noon + timedelta(hours=1))
            size: int = await connection.fetchval("SELECT pg_database_size(current_database())")
            return size
        finally:
            await connection.close()
    finally:
        await node.stop()


def _up(data: Path) -> "subprocess.Popen[bytes]":
    server = subprocess.Popen(_command("up", "--port", "0", "--data-dir", data), stderr=subprocess.DEVNULL)
    while not (data / "server.json").exists():
        if server.poll() is not None:
            sys.exit("the server ended")
    return server


def _tickwork(*words: str | Path) -> None:
    subprocess.run(_command(*words), check=True, capture_output=True)


def _command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "tickwork.cli", *map(str, words)]


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = monotonic()
    yield
    _say(f"{what}: {monotonic() - began:.1f} s")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
