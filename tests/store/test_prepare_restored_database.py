"""A database that was restored issues no id twice, knows no worker of before, and waits to be resumed."""

from datetime import timedelta

import asyncpg
import pytest

from tickwork.config import Settings
from tickwork.model.access import Caller, Scope
from tickwork.model.errors import Conflict, LeaseGone
from tickwork.model.execution import ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id, parse_worker_id
from tickwork.model.rest_worker import ClaimRequest, HeartbeatReport, WorkerRequest
from tickwork.model.resume_cluster import ResumeRequest
from tickwork.node import Node
from tickwork.store.prepare_restored_database import prepare_restored
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
ADMIN = Caller(TENANT, "default", 1, frozenset({Scope.ADMIN}))


@pytest.fixture
async def stopped(settings: Settings, clock: SettableClock, connection: asyncpg.Connection) -> Settings:
    """A node has run, with a job, a worker and an execution on it, and was stopped."""
    node = Node(settings)
    await node.open()
    # The template of test databases was made by the real clock.
    await connection.execute("UPDATE tickwork.tenant SET created_at = tickwork.clock()")
    worker = await ScriptedWorker.connect(node, ["work"])
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await node.step("claim")
    assert await worker.runs()
    await node.cluster.report()
    await worker.leave_silently()
    await node.stop()
    return settings


async def test_every_sequence_moves_on_by_more_than_a_cluster_issues(
    stopped: Settings, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    before = await sequences(connection)
    numbers = await connection.fetchval("SELECT number FROM tickwork.last_event")
    await clock.advance(timedelta(hours=1))
    prepared = await prepare_restored(stopped.database_url)
    assert prepared.now - prepared.data_until == timedelta(hours=1)
    after = await sequences(connection)
    assert after.keys() == before.keys()
    assert {name: after[name] - before[name] > 10_000 for name in after} == dict.fromkeys(after, True)
    assert after["job_id"] - before["job_id"] >= 3600 * 100_000
    assert await connection.fetchval("SELECT number FROM tickwork.last_event") - numbers >= 3600 * 100_000
    assert prepared.last_ids["job_id"] == after["job_id"]


async def sequences(connection: asyncpg.Connection) -> dict[str, int]:
    rows = await connection.fetch(
        "SELECT sequencename, coalesce(last_value, 1) FROM pg_sequences WHERE schemaname = 'tickwork'"
    )
    return dict(map(tuple, rows))


async def test_preparing_it_again_and_again_never_uses_all_ids_up(
    stopped: Settings, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    for _ in range(3):
        await clock.advance(timedelta(days=3650))
        await prepare_restored(stopped.database_url)
    node = Node(stopped)
    await node.open()
    (job,) = await node.jobs.create(TENANT, [JobRequest(task="work")])
    await ScriptedWorker.connect(node, ["work"])
    assert parse_job_id(job.id) > 3 * 3650 * 86_400 * 100_000
    await node.stop()


async def test_workers_of_before_register_anew_and_what_they_had_counts_as_interrupted(
    stopped: Settings, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    token = await connection.fetchval("SELECT token FROM tickwork.worker")
    await prepare_restored(stopped.database_url)
    assert await connection.fetchval("SELECT token FROM tickwork.worker") != token
    node = Node(stopped)
    await node.open()
    assert node.pause.is_on()
    report = await node.resumption.report(10)
    assert [each.attempt for each in report.interrupted] == [1]
    assert report.restored.data_until == report.at
    await node.stop()


async def test_attempts_that_were_given_out_after_the_backup_keep_their_numbers(
    settings: Settings, clock: SettableClock
) -> None:
    """Also if the backup is restored on the same PostgreSQL, whose history of WAL says nothing of it."""
    node = Node(settings)
    await node.open()
    await ScriptedWorker.offer_only(node, ["work"])
    await node.jobs.create(TENANT, [JobRequest(task="work")])
    await node.stop()
    await prepare_restored(settings.database_url)
    node = Node(settings)
    await node.open()
    await node.resumption.resume(ResumeRequest(), "somebody")
    worker = await ScriptedWorker.connect(node, ["work"])
    await node.step("claim")
    assert [run.attempt for run in await worker.runs()] == [100_001]
    await node.stop()


async def test_a_rest_worker_of_before_is_told_to_register_again(
    settings: Settings, clock: SettableClock
) -> None:
    node = Node(settings)
    await node.open()
    registered = await node.rest_workers.register(ADMIN, WorkerRequest(name="rest", tasks=["work"]))
    await node.stop()
    await prepare_restored(settings.database_url)
    node = Node(settings)
    await node.open()
    number = parse_worker_id(registered.id)
    with pytest.raises(LeaseGone, match="register again"):
        await node.rest_workers.heartbeat(ADMIN, number, HeartbeatReport())
    with pytest.raises(LeaseGone, match="register again"):
        await node.rest_workers.claim(ADMIN, number, ClaimRequest())
    await node.stop()


async def test_browsers_are_signed_out(still_node: Node, connection: asyncpg.Connection) -> None:
    await still_node.sessions.create_link(ADMIN)
    await prepare_restored(still_node.database_url)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.sign_in_link") == 0
    assert await connection.fetchval("SELECT count(*) FROM tickwork.session") == 0


async def test_it_is_refused_while_a_server_runs(still_node: Node, connection: asyncpg.Connection) -> None:
    await still_node.cluster.report()
    with pytest.raises(Conflict, match="stop them first"):
        await prepare_restored(still_node.database_url)
    assert await connection.fetchval("SELECT paused_at FROM tickwork.cluster") is None
    await prepare_restored(still_node.database_url, is_ours_alone=True)


async def test_a_database_of_an_earlier_version_says_by_other_traces_how_far_it_reaches(
    stopped: Settings, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await connection.execute("UPDATE tickwork.cluster SET alive_at = NULL")
    await clock.advance(timedelta(minutes=5))
    prepared = await prepare_restored(stopped.database_url)
    assert timedelta(0) < prepared.now - prepared.data_until < timedelta(hours=13)


async def test_an_id_of_after_the_backup_means_nothing_any_more(
    stopped: Settings, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    """The client of a lost job gets 404, not a stranger's job."""
    await prepare_restored(stopped.database_url)
    node = Node(stopped)
    await node.open()
    (new,) = await node.jobs.create(TENANT, [JobRequest(task="work")])
    lost = range(2, 1000)
    assert parse_job_id(new.id) not in lost
    items = (await node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert {parse_job_id(each.job_id) for each in items}.isdisjoint(lost)
    await node.stop()
