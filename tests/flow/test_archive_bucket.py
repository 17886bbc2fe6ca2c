"""The archive in an S3-compatible store, against a stand-in that runs in this process."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from support.archived_history import write_history
from tickwork.config import Settings
from tickwork.model.archive import ArchiveDamaged
from tickwork.node import Node
from tickwork.record.archive.archive_storage import open_location
from tickwork.record.archive.part_files import verify_files
from tickwork.record.archive.read_archive import executions, manifests, query
from tickwork.testing import SettableClock

_BEGIN = datetime(2026, 1, 10, 6, tzinfo=UTC)
_DAY = timedelta(days=1)
_URL = "s3://history/of/tests"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The variables that lead to it."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    fs.S3FileSystem(
        endpoint_override=environment["AWS_ENDPOINT_URL_S3"], region="us-east-1", allow_bucket_creation=True
    ).create_dir("history")
    yield environment
    server.stop()


async def test_days_are_archived_in_a_bucket_and_purged_jobs_leave_it(
    bucket: dict[str, str],
    settings: Settings,
    clock: SettableClock,
    connection: asyncpg.Connection,
    tmp_path: Path,
) -> None:
    await clock.set(_BEGIN)
    node = Node(msgspec.structs.replace(settings, archive_url=_URL, history_days=3))
    await node.open()
    await write_history(connection, _BEGIN, 2)
    await clock.set(_BEGIN + 5 * _DAY)
    await _archive(node)
    location = open_location(_URL, bucket)
    found = manifests(location)
    assert [(each.part, each.rows("executions")) for each in found] == [
        ("20260109-1", 0), ("20260110-1", 3), ("20260111-1", 3),
    ]  # fmt: skip
    assert list(query(location, found, "SELECT count(*) FROM attempts").rows) == [(8,)]
    assert sum(len(batch) for batch in executions(location, found, None, "j2")) == 2
    await node.purges.purge(1, 2)
    await clock.set(_BEGIN + 5 * _DAY + timedelta(minutes=2))
    while await node.step("delete purged jobs"):
        pass
    await _archive(node)
    await node.stop()
    left = manifests(location)
    for manifest in left:
        verify_files(location, manifest)
    assert [each.rows("executions") for each in left] == [0, 2, 2]
    assert [location.generations(each.part) for each in left] == [[1], [2], [2]]
    location.files.delete_file(location.path("20260110-1", 2, "executions.parquet"))
    with pytest.raises(ArchiveDamaged, match="is missing"):
        verify_files(location, left[1])


async def _archive(node: Node) -> None:
    await node.step("maintain partitions")
    while await node.step("archive history"):
        pass
