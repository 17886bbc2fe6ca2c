"""A second standby takes over that has nothing of the first one's time as the primary, and begins the same timeline."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import asyncpg
import pytest

from support.node_steps import eventually_marks
from support.stoppable_postgres import StoppablePostgres
from tickwork.config import Settings
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.node import Node
from tickwork.store.connect_to_any_host import Connector
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_TIMELINE = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)"


class Trio(NamedTuple):
    primary: StoppablePostgres
    first: StoppablePostgres
    second: StoppablePostgres  # stopped: it has what was there when the node started
    node: Node

    async def fail_over_to_first(self) -> None:
        await self.primary.halt("immediate")
        await self.first.promote()
        await eventually_marks(self.node)

    async def fail_over_to_second(self) -> None:
        await self.first.halt("immediate")
        await self.second.resume()
        await self.second.promote()
        await eventually_marks(self.node)


@pytest.fixture
async def trio(tmp_path: Path) -> AsyncIterator[Trio]:
    async with AsyncExitStack() as running:
        servers = [StoppablePostgres(tmp_path / each) for each in ("primary", "first", "second")]
        for server in servers:
            running.push_async_callback(asyncio.to_thread, server.stop)
        primary, first, second = servers
        await asyncio.to_thread(primary.start)
        await asyncio.to_thread(first.follow, primary)
        hosts = ",".join(str(Path(server.socket).parent) for server in servers)
        url = f"postgresql://tickwork@/tickwork?host={hosts}&port=5432"
        node = Node(Settings(database_url=url, data_dir=tmp_path, http=False))
        await node.open()
        running.push_async_callback(node.stop)
        await ScriptedWorker.offer_only(node, ["work"])
        await node.step("report node")
        await node.step("mark commits")
        await node.jobs.create(TENANT, [JobRequest(task="work")])
        await asyncio.to_thread(second.follow, primary)
        await second.halt("fast")
        yield Trio(primary, first, second, node)


async def _fetch(server: StoppablePostgres, query: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(server.url)
    try:
        return await connection.fetch(query)
    finally:
        await connection.close()


async def test_a_second_promotion_to_the_same_timeline_is_noticed_and_gives_nothing_out_twice(
    trio: Trio,
) -> None:
    node = trio.node
    await trio.fail_over_to_first()
    worker = await ScriptedWorker.connect(node, tasks=["work"])
    (lost,) = await node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")])
    await node.step("claim")
    (run,) = await worker.runs()
    assert run.attempt == 100_001
    (before,) = await _fetch(trio.first, _TIMELINE)

    await trio.fail_over_to_second()
    assert await _fetch(trio.second, _TIMELINE) == [before]
    failovers = await _fetch(trio.second, "SELECT loss, first_attempt FROM tickwork.failover ORDER BY id")
    assert [tuple(row) for row in failovers] == [("none", 1), ("certain", 200_001)]
    (new,) = await node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")])
    assert parse_job_id(new.id) > parse_job_id(lost.id)
    other = await ScriptedWorker.connect(node, tasks=["work"])
    await node.step("claim")
    (again,) = await other.runs()
    assert (again.job, again.attempt) == (run.job, 200_001)


async def test_the_first_one_is_refused_when_it_comes_back_with_the_same_timeline(trio: Trio) -> None:
    await trio.fail_over_to_first()
    await trio.fail_over_to_second()
    await trio.first.resume()
    alone = Connector(trio.first.url)
    alone.admit = trio.node._failovers.admit
    with pytest.raises(ConnectionError, match="it was replaced: by another with the same timeline"):
        await alone()


async def test_a_node_that_knows_of_higher_attempts_raises_what_another_has_noted(
    trio: Trio, tmp_path: Path
) -> None:
    await trio.fail_over_to_first()
    await trio.first.halt("immediate")
    await trio.second.resume()
    await trio.second.promote()
    other = Node(Settings(database_url=trio.second.url, data_dir=tmp_path / "other", http=False))
    await other.open()  # it knows nothing of the first one's time
    assert other._failovers.fence.first_attempt == 100_001
    await eventually_marks(trio.node)
    assert trio.node._failovers.fence.first_attempt == 200_001
    await other.step("mark commits")
    assert other._failovers.fence.first_attempt == 200_001
    await other.stop()
