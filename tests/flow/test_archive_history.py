"""Days that are older than the kept history are archived, read back, and only then dropped."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from support.archived_history import write_history
from tickwork.config import Settings
from tickwork.model.archive import Manifest
from tickwork.node import Node
from tickwork.record.archive.location import FolderLocation
from tickwork.record.archive.part_files import read_tables, verify_files
from tickwork.store.partitions_and_retention import Partitions
from tickwork.testing import SettableClock

_BEGIN = datetime(2026, 1, 10, 6, tzinfo=UTC)
_DAY = timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
async def archiving_node(settings: Settings, folder: Path, clock: SettableClock) -> AsyncIterator[Node]:
    await clock.set(_BEGIN)
    node = Node(msgspec.structs.replace(settings, archive_url=str(folder), history_days=3))
    await node.open()
    yield node
    await node.stop()


async def archive(node: Node) -> None:
    await node.step("maintain partitions")
    while await node.step("archive history"):
        pass


async def test_an_old_day_is_archived_and_dropped(
    archiving_node: Node, folder: Path, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await write_history(connection, _BEGIN, 2)
    await clock.set(_BEGIN + 4 * _DAY)
    await archive(archiving_node)
    location = FolderLocation(folder)
    assert location.parts() == ["20260109-1", "20260110-1"]
    manifest = location.newest_manifest("20260110-1")
    verify_files(location, manifest)
    assert {file.table: file.rows for file in manifest.files} == {"executions": 3, "attempts": 4, "logs": 2}
    rows = {table: rows.to_pylist() for table, rows in read_tables(location, manifest)}
    assert [row["status"] for row in rows["executions"]] == ["completed", "failed", "skipped"]
    assert rows["executions"][0]["result"] == '{"ok":true}'
    assert [row["worker_name"] for row in rows["attempts"]] == ["ann"] * 4
    assert [row["text"] for row in rows["logs"]] == ["first", "second"]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 3
    assert await connection.fetchval("SELECT count(*) FROM tickwork.sealed_execution") == 0
