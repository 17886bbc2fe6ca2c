"""`tickwork archive`, as an operator types it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest
from click.testing import CliRunner, Result

from support.archived_history import write_history
from tickwork.cli import main
from tickwork.config import Settings
from tickwork.node import Node
from tickwork.testing import SettableClock

_BEGIN = datetime(2026, 1, 10, 6, tzinfo=UTC)


@pytest.fixture
async def archive(
    settings: Settings, tmp_path: Path, clock: SettableClock, connection: asyncpg.Connection
) -> Path:
    folder = tmp_path / "archive"
    await clock.set(_BEGIN)
    node = Node(msgspec.structs.replace(settings, archive_url=str(folder), history_days=3))
    await node.open()
    await write_history(connection, _BEGIN, 1)
    await clock.set(_BEGIN + timedelta(days=4))
    await node.step("maintain partitions")
    while await node.step("archive history"):
        pass
    await node.stop()
    return folder


def run(archive: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["archive", *arguments], env={"TICKWORK_ARCHIVE_URL": str(archive)})


def test_shows_verifies_queries_and_restores(archive: Path, database_url: str) -> None:
    listed = json.loads(run(archive, "list", "-o", "json").stdout)
    assert [(each["part"], each["executions"]) for each in listed] == [("20260109-1", 0), ("20260110-1", 3)]
    assert "20260110-1" in run(archive, "list").stdout
    assert run(archive, "verify", "2026-01-10").exit_code == 0
    sql = "SELECT job_name, status FROM executions ORDER BY job_id"
    lines = run(archive, "query", sql, "-o", "jsonl").stdout.splitlines()
    assert json.loads(lines[1]) == {"job_name": "job 2", "status": "failed"}
    lines = run(archive, "restore", "--job", "j2", "--jsonl").stdout.splitlines()
    (restored,) = map(json.loads, lines)
    assert [each["error"]["message"] for each in restored["attempts"]] == ["no 1", "no 2", "no 3"]
    kept = run(archive, "restore", "--day", "2026-01-10", "--database-url", database_url)
    assert "3 executions are shown until" in kept.stderr


def test_says_what_is_wrong_and_what_would_be_right(archive: Path, tmp_path: Path) -> None:
    elsewhere = run(tmp_path / "elsewhere", "verify")
    assert (elsewhere.exit_code, "is it the archive_url of the servers?" in elsewhere.stderr) == (3, True)
    assert "give --archive-url" in CliRunner().invoke(main, ["archive", "list"]).stderr
    assert "say which executions" in run(archive, "restore").stderr
    assert "is no duration" in run(archive, "restore", "--job", "j2", "--keep", "long").stderr
    assert "there is no archived day 2025-01-01" in run(archive, "verify", "2025-01-01").stderr
    assert "the views are executions" in run(archive, "query", "SELECT * FROM jobs").stderr
    refused = run(archive, "query", "SELECT * FROM read_csv('/etc/passwd')")
    assert refused.exit_code != 0
    (file,) = archive.glob("20260110-1/*/executions.parquet")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    damaged = run(archive, "verify")
    assert damaged.exit_code == 1
    assert "executions.parquet is not what was written" in damaged.stderr
