"""The disk of the embedded PostgreSQL is full down to its WAL, and the server dies of it: deleting the reserve file is
enough for all to go on by itself."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest

from support.small_disk import mounted_disk
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.model.errors import Unavailable
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.store.database_errors import DISK_FULL
from tickwork.store.embedded.disk_reserve_file import NAME, make_reserve, release_reserve
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_SIZE = 400 << 20
_RESERVE = 96 << 20
_WITHIN = 120.0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "disk", _SIZE) as disk:
        yield disk


def _fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as out:
        for size in (1 << 20, 4096):
            try:
                while out.write(b"x" * size) == size:
                    pass
            except OSError:
                continue


async def test_a_server_that_died_of_a_full_disk_goes_on_when_the_reserve_is_deleted(
    small_disk: Path,
) -> None:
    node = Node(Settings(data_dir=small_disk / "data", http=False))
    await node.start()
    await ScriptedWorker.offer_only(node, ["work"])
    await node.jobs.create(TENANT, [_job()])
    make_reserve(small_disk / "data", _RESERVE)
    _fill(small_disk)
    await eventually(lambda: _is_refused(node), within=_WITHIN, what="a full disk")
    await eventually(lambda: node.health()["database"] == DISK_FULL, within=_WITHIN, what="the named cause")
    assert not node.ready()
    assert release_reserve(small_disk / "data") == _RESERVE
    assert not (small_disk / "data" / NAME).exists()
    await eventually(lambda: _is_taken(node), within=_WITHIN, what="a job that is taken")
    await eventually(node.ready, within=_WITHIN, what="a node that is ready")
    await node.stop()


def _job() -> JobRequest:
    return JobRequest(task="work", payload={"text": token_hex(200_000)}, schedule={"in": "1h"})


async def _is_refused(node: Node) -> bool:
    """After as many jobs as there is room for."""
    try:
        async with asyncio.timeout(20):
            await node.jobs.create(TENANT, [_job() for _ in range(10)])
    except (Unavailable, TimeoutError):
        return True
    return False


async def _is_taken(node: Node) -> bool:
    try:
        await node.jobs.create(TENANT, [JobRequest(task="work", schedule={"in": "1h"})])
    except Unavailable:
        return False
    return True
