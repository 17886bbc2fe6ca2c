"""A standby takes over: a primary that is silent is left, lost commits are noticed, and nothing is given out twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import asyncpg
import msgspec
import pytest

from support.node_steps import eventually_marks
from support.proxy import Upstream, Way, Wire
from support.stoppable_postgres import StoppablePostgres
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.model.errors import Unavailable
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.node import Node
from tickwork.store.connect_to_any_host import Connector
from tickwork.store.failover import notice_failover
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_AT_ALL = 30  # seconds; it should be a few
_CAUGHT_UP = "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn"


class Pair(NamedTuple):
    primary: StoppablePostgres
    standby: StoppablePostgres
    wire: Wire  # to the primary
    node: Node

    async def caught_up(self) -> None:
        """Until the standby has all that is committed."""
        there, here = await asyncpg.connect(self.primary.url), await asyncpg.connect(self.standby.url)
        reached = await there.fetchval("SELECT pg_current_wal_lsn()::text")
        await eventually(
            lambda: here.fetchval(_CAUGHT_UP, reached), within=_AT_ALL, what="a standby that follows"
        )
        await there.close()
        await here.close()

    async def fail_over(self) -> None:
        """The primary is gone for good, and the standby takes its place."""
        await self.primary.halt("immediate")
        await self.standby.promote()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as running:
        primary, standby = (StoppablePostgres(tmp_path / each) for each in ("primary", "standby"))
        await asyncio.to_thread(primary.start)
        running.push_async_callback(asyncio.to_thread, primary.stop)
        await asyncio.to_thread(standby.follow, primary)
        running.push_async_callback(asyncio.to_thread, standby.stop)
        wire = await Wire(Upstream(primary.socket)).open()
        running.push_async_callback(wire.close)
        folder = Path(standby.socket).parent
        hosts = f"host=127.0.0.1,{folder}&port={wire.port},5432&connect_timeout=2"
        node = Node(
            Settings(database_url=f"postgresql://tickwork@/tickwork?{hosts}", data_dir=tmp_path, http=False)
        )
        await node.open()
        running.push_async_callback(node.stop)
        await ScriptedWorker.offer_only(node, ["work"])
        await node.step("report node")
        await node.step("mark commits")
        yield Pair(primary, standby, wire, node)


async def test_a_frozen_primary_is_left_as_soon_as_another_takes_its_place(pair: Pair) -> None:
    node = pair.node
    await node.step("watch database")
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await pair.caught_up()
    async with asyncio.timeout(_AT_ALL):
        with pair.wire.blocked(*Way):
            waiting = asyncio.create_task(node._database.fetch("SELECT 1"))
            with pytest.raises(Unavailable, match="it is a standby"):
                await node.step("watch database")
            assert not waiting.done()
            await pair.standby.promote()
            await node.step("watch database")
            with pytest.raises(Unavailable):
                await waiting
            (job,) = await node.jobs.create(TENANT, [JobRequest(task="work")])
    assert parse_job_id(job.id) > 1


async def test_a_primary_that_was_replaced_is_refused_when_it_comes_back(pair: Pair) -> None:
    await pair.caught_up()
    with pair.wire.blocked(*Way):
        await pair.standby.promote()
        await pair.node.step("watch database")
    alone = Connector(f"postgresql://tickwork@127.0.0.1:{pair.wire.port}/tickwork")
    alone.admit = pair.node._failovers.admit
    with pytest.raises(ConnectionError, match="it was replaced: its timeline is 1, not 2"):
        await alone()


async def test_a_replaced_primary_that_stays_is_taken_and_what_was_committed_since_is_lost(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bool] = []  # workers connect again, and say what they have
    pair.node._failovers.after_loss = lambda: compared.append(True)
    await pair.node.step("watch database")
    await pair.caught_up()
    with pair.wire.blocked(*Way):
        await pair.standby.promote()
        await pair.node.step("watch database")
        await pair.node.step("mark commits")
        assert len(compared) == 1
        (lost,) = await pair.node.jobs.create(TENANT, [JobRequest(task="work")])
    await pair.standby.halt("immediate")
    with pytest.raises(Unavailable, match="it was replaced"):
        await pair.node.step("watch database")
    monkeypatch.setattr(notice_failover, "_REFUSED_FOR", 0.0)
    await eventually_marks(pair.node)
    assert len(compared) == 2
    connection = await asyncpg.connect(pair.primary.url)
    failovers = await connection.fetch("SELECT loss, first_attempt FROM tickwork.failover ORDER BY id")
    await connection.close()
    assert [tuple(row) for row in failovers] == [("none", 1), ("certain", 200_001)]
    (new,) = await pair.node.jobs.create(TENANT, [JobRequest(task="work")])
    assert parse_job_id(new.id) > parse_job_id(lost.id)


async def _rows(pair: Pair, query: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(pair.standby.url)
    try:
        return await connection.fetch(query)
    finally:
        await connection.close()


async def test_lost_commits_are_noticed_and_told_with_the_jobs_that_vanished(pair: Pair) -> None:
    node = pair.node
    (kept,) = await node.jobs.create(TENANT, [JobRequest(task="work")])
    await pair.caught_up()
    await pair.standby.halt("fast")
    (lost,) = await node.jobs.create(TENANT, [JobRequest(task="work")])
    await node.step("mark commits")
    await pair.primary.halt("immediate")
    await pair.standby.resume()
    await pair.standby.promote()
    await eventually_marks(node)

    (_, failover) = await _rows(pair, "SELECT * FROM tickwork.failover ORDER BY id")
    assert (failover["loss"], failover["first_attempt"]) == ("certain", 100_001)
    while await node.step("number events"):
        pass
    told = await _rows(
        pair, "SELECT kind, detail FROM tickwork.event WHERE kind LIKE '%.lost' OR kind LIKE 'database.%'"
    )
    assert sorted(row["kind"] for row in told) == ["commits.lost", "database.failover"]
    (detail,) = (msgspec.json.decode(row["detail"]) for row in told if row["kind"] == "commits.lost")
    assert detail["vanished_jobs"] == [lost.id]
    (new,) = await node.jobs.create(TENANT, [JobRequest(task="work")])
    assert parse_job_id(new.id) > parse_job_id(lost.id) > parse_job_id(kept.id)
    shown = (await node.cluster.view()).failovers
    assert [each.loss for each in shown] == ["certain"]


async def test_an_attempt_that_a_lost_commit_gave_out_has_a_number_of_its_own(pair: Pair) -> None:
    node = pair.node
    worker = await ScriptedWorker.connect(node, tasks=["work"])
    (job,) = await node.jobs.create(TENANT, [JobRequest(task="work")])
    await pair.caught_up()
    await pair.standby.halt("fast")
    await node.step("claim")
    (lost,) = await worker.runs()
    assert lost.attempt == 1
    await pair.primary.halt("immediate")
    await pair.standby.resume()
    await pair.standby.promote()
    await eventually_marks(node)

    back = await worker.come_back([lost])
    await node.step("claim")
    (again,) = await back.runs()
    assert (again.job, again.attempt) == (parse_job_id(job.id), 100_001)
    await back.complete(again)
    assert [row["attempt"] for row in await _rows(pair, "SELECT attempt FROM tickwork.execution")] == [
        100_001
    ]


async def test_an_outcome_that_was_lost_makes_the_attempt_lost_and_not_sent_again(pair: Pair) -> None:
    node = pair.node
    worker = await ScriptedWorker.connect(node, tasks=["work"])
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await node.step("claim")
    (run,) = await worker.runs()
    await pair.caught_up()
    await pair.standby.halt("fast")
    await worker.complete(run)
    await pair.primary.halt("immediate")
    await pair.standby.resume()
    await pair.standby.promote()
    await eventually_marks(node)

    back = await worker.come_back([])
    await node.step("record")
    (attempt,) = await _rows(pair, "SELECT attempt, outcome::text FROM tickwork.attempt")
    assert tuple(attempt) == (1, "lost")
    await node.step("claim")
    (again,) = await back.runs()
    assert again.attempt == 100_001


async def test_a_due_time_that_is_fired_again_begins_with_a_higher_attempt(pair: Pair) -> None:
    node = pair.node
    worker = await ScriptedWorker.connect(node, tasks=["work"])
    await node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1s", overlap="allow")])
    await pair.caught_up()
    await pair.standby.halt("fast")
    await eventually(lambda: node.step("fire"), within=_AT_ALL, what="a due time")
    lost = await worker.runs()
    await pair.primary.halt("immediate")
    await pair.standby.resume()
    await pair.standby.promote()
    await eventually_marks(node)

    back = await worker.come_back([])
    await eventually(lambda: node.step("fire"), within=_AT_ALL, what="a due time")
    again = await back.runs()
    assert {run.attempt for run in lost} == {1}
    assert {run.attempt for run in again if run.at <= lost[-1].at} <= {100_001}


async def test_a_failover_while_no_node_ran_is_noticed_at_the_start(pair: Pair, tmp_path: Path) -> None:
    await pair.caught_up()
    await pair.fail_over()
    other = Node(Settings(database_url=pair.standby.url, data_dir=tmp_path, http=False))
    await other.open()
    (_, failover) = await _rows(pair, "SELECT loss FROM tickwork.failover ORDER BY id")
    assert failover["loss"] == "possible"
    await other.stop()
