"""A pause comes while something of the job is on its way to wait, or to a worker: after its answer nothing begins."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from support.node_steps import later, run_due
from support.waiting import eventually
from tickwork.model.execution import AttemptOutcome, ExecutionFilter
from tickwork.model.job import JobRequest, JobView
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT, JOB, NEXT_JOB = 1, 1, 2
_HOUR = timedelta(hours=1)
_SOON = timedelta(milliseconds=100)  # within the time by which things are handed over early
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
_NOTE_ATTEMPT = """
INSERT INTO tickwork.attempt (tenant_id, scheduled_for, job_id, attempt, outcome, finished_at)
VALUES ($1, $2, $3, $4, 'lost', tickwork.clock())"""
_LOCK_WORKERS = "SELECT FROM tickwork.worker FOR UPDATE"
_HOLD_UP_FIRST = """
CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
CREATE TRIGGER hold_up BEFORE UPDATE ON tickwork.execution
    FOR EACH ROW WHEN (OLD.job_id = 1) EXECUTE FUNCTION hold_up();"""


@asynccontextmanager
async def _undone(connection: asyncpg.Connection, query: str, *arguments: object) -> AsyncIterator[None]:
    """Holds up whoever comes to the same rows, and leaves nothing behind."""
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(query, *arguments)
    yield
    await transaction.rollback()


async def _begin(step: Awaitable[object], connection: asyncpg.Connection) -> "asyncio.Future[object]":
    """Until it waits for a lock."""
    begun = asyncio.ensure_future(step)
    await eventually(lambda: connection.fetchval(_WAITING), within=30, what="waiting for a lock")
    return begun


async def _pause(node: Node, connection: asyncpg.Connection) -> "asyncio.Task[JobView]":
    """Until it is answered, or waits for a lock too."""
    pausing = asyncio.create_task(node.jobs.pause(TENANT, JOB))

    async def has_come() -> bool:
        return pausing.done() or await connection.fetchval(_WAITING) > 1

    await eventually(has_come, within=30, what="the pause")
    return pausing


async def _one_runs(node: Node, clock: SettableClock, worker: ScriptedWorker) -> Run:
    await node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h", overlap="allow")])
    await later(clock, worker, _HOUR)
    await run_due(node)
    (run,) = await worker.runs()
    return run


@pytest.mark.parametrize("outcome", [AttemptOutcome.RETURNED, AttemptOutcome.FAILED, AttemptOutcome.SNOOZED])
async def test_what_comes_back_meanwhile_waits_for_the_resumption(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    outcome: AttemptOutcome,
) -> None:
    """Whoever settles it has read that the job is active, and has not committed yet."""
    run = await _one_runs(still_node, clock, worker)
    details = {"failure": Failure("Oops", "again")} if outcome == AttemptOutcome.FAILED else {}
    key = (run.tenant, from_micros(run.at), run.job, run.attempt)
    async with _undone(connection, _NOTE_ATTEMPT, *key):
        reporting = await _begin(worker.report(run, outcome, **details), connection)
        pausing = await _pause(still_node, connection)
    await reporting
    assert (await pausing).status == "paused"
    await later(clock, worker, timedelta(minutes=10))
    await run_due(still_node)
    assert await worker.runs() == []

    await still_node.jobs.resume(TENANT, JOB)
    await run_due(still_node)
    (again,) = await worker.runs()
    assert (again.at, again.attempt) == (run.at, 2)


async def test_what_a_dead_worker_held_waits_for_the_resumption(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same when it is taken out of the hands of a worker that is not heard of any more."""
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0.0)
    run = await _one_runs(still_node, clock, worker)
    await worker.leave_silently()
    await clock.advance(timedelta(minutes=1))
    async with _undone(connection, _NOTE_ATTEMPT, run.tenant, from_micros(run.at), run.job, run.attempt):
        rescuing = await _begin(still_node.step("rescue"), connection)
        pausing = await _pause(still_node, connection)
    await rescuing
    await pausing
    other = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    assert await other.runs() == []


async def test_what_is_being_handed_over_ahead_of_its_time_is_taken_back(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    """Whoever hands it over has locked it, and has not committed yet."""
    due = await connection.fetchval("SELECT tickwork.clock()") + _HOUR
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule={"at": due.isoformat()})])
    await later(clock, worker, _HOUR - _SOON)
    async with _undone(connection, _LOCK_WORKERS):
        claiming = await _begin(still_node.step("claim"), connection)
        pausing = await _pause(still_node, connection)
    await claiming
    await pausing
    (run,) = await worker.runs()
    await still_node.step("revoke")
    (revoke,) = await worker.revokes()
    assert [(item.job, item.at, item.attempt) for item in revoke.items] == [(run.job, run.at, run.attempt)]
    (waiting,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (waiting.status, waiting.waiting_for, waiting.attempt) == ("pending", "paused", 2)


async def test_what_waited_for_the_one_before_it_waits_for_the_resumption(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    """Whoever lets it go began to look around before the pause, and comes to it afterwards."""
    request = JobRequest(task="work", schedule="every 1h", overlap="queue")
    await still_node.jobs.create(TENANT, [request, request])
    for _ in range(2):
        await later(clock, worker, _HOUR)
        await run_due(still_node)
    await worker.report_all(await worker.runs())
    await connection.execute(_HOLD_UP_FIRST)
    async with _undone(connection, "SELECT pg_advisory_xact_lock(1)"):
        releasing = await _begin(still_node.step("release queued"), connection)
        await still_node.jobs.pause(TENANT, NEXT_JOB)
    await releasing
    await run_due(still_node)
    assert [run.job for run in await worker.runs()] == [JOB]


async def test_what_comes_back_after_an_edit_waits_for_the_resumption(
    still_node: Node, clock: SettableClock
) -> None:
    """It began before its job was moved to another queue."""
    worker = await ScriptedWorker.connect(still_node, ["work"], queues=["default", "other"])
    run = await _one_runs(still_node, clock, worker)
    await still_node.jobs.patch(TENANT, JOB, {"queue": "other"})
    await worker.fail(run, Failure("Oops", "again"))
    await still_node.jobs.pause(TENANT, JOB)
    await later(clock, worker, timedelta(minutes=10))
    await run_due(still_node)
    assert await worker.runs() == []
