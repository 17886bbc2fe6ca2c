"""The disk of the database is full: requests are told to come again, and it goes on by itself once there is room."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from secrets import token_hex

import asyncpg
import httpx2
import pytest
from structlog.testing import capture_logs

from api.conftest import Connect
from support.end_sessions import end_sessions
from support.small_disk import mounted_disk
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.node import Node

JOB = {"http": {"url": "https://example.com"}, "payload": token_hex(30_000), "schedule": {"in": "1h"}}
_SIZE = 96 << 20
_WITHIN = 30.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "disk", _SIZE) as disk:
        yield disk


@pytest.fixture
async def moved_url(cluster: str, database_url: str, small_disk: Path) -> AsyncIterator[str]:
    """The test's database, on the small disk."""
    admin = await asyncpg.connect(cluster.replace("/tickwork?", "/postgres?"))
    name = database_url.partition("?")[0].rpartition("/")[2]
    space = f"small_{name}"
    await admin.execute(f"CREATE TABLESPACE {space} LOCATION '{_room_for_postgres(small_disk)}'")
    await admin.execute(f"ALTER DATABASE {name} SET TABLESPACE {space}")
    yield database_url
    if await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE datname = $1", name):
        await end_sessions(admin, "datname = $1", name)
    await admin.execute(f"ALTER DATABASE {name} SET TABLESPACE pg_default")
    await admin.execute(f"DROP TABLESPACE {space}")
    await admin.close()


def _room_for_postgres(disk: Path) -> Path:
    disk.parent.chmod(0o711)  # as root, PostgreSQL runs as another user
    room = disk / "room"
    room.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(room, "pgserver")
    return room


@pytest.fixture
async def client(moved_url: str, tmp_path: Path, connect: Connect) -> AsyncIterator[httpx2.AsyncClient]:
    node = Node(Settings(database_url=moved_url, data_dir=tmp_path, http=False))
    await node.start()
    yield await connect(node, node.first_key)
    await node.stop()


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as out:
        for size in (1 << 20, 4096):
            try:
                while out.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return filler


async def test_a_full_disk_is_unavailable_until_there_is_room(
    client: httpx2.AsyncClient, small_disk: Path
) -> None:
    first = await client.post("/v1/jobs", json=JOB)
    assert first.status_code == 201, first.text
    filler = _fill(small_disk)
    with capture_logs() as logs:
        answers = [await client.post("/v1/jobs", json=JOB) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [503] * 5
        assert answers[0].json()["type"] == "/docs/problems/unavailable"
        assert int(answers[0].headers["retry-after"]) > 0
        assert answers[0].json()["detail"].endswith("it has no space left on its disk")
        assert (await client.get("/v1/jobs")).status_code == 200  # reading works, and makes nothing ready
        not_ready = await client.get("/readyz")
        assert not_ready.status_code == 503
        assert not_ready.json()["detail"] == "not ready: database has no space left on its disk"
    told = [line["kind"] for line in logs if line["event"].startswith("database unavailable")]
    assert told == ["DiskFullError"]
    assert [line for line in logs if line["log_level"] == "error"] == []
    filler.unlink()
    await eventually(lambda: _is_ready(client), within=_WITHIN, what="a node that is ready")
    assert (await client.post("/v1/jobs", json=JOB)).status_code == 201


async def _is_ready(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200
