"""The look for work finds each loop that has some, and no other."""

import asyncpg
import pytest

from tickwork.node import Node
from tickwork.store.loops_with_work_store import LoopsWithWork

_HOUR = "now() + interval '1 hour'"
_WAIT = """
    INSERT INTO tickwork.callback_wait (
        tenant_id, scheduled_for, job_id, attempt, lease_id, timeout_at, deadline, poll_at, status_url, target
    ) VALUES (1, now(), 1, 1, 1, now() + interval '1 hour', {deadline}, {poll_at}, 'http://status', '')"""
_NOTIFICATION = """
    INSERT INTO tickwork.notification (
        id, tenant_id, channel_id, channel, cause, kind, severity, count, first, due_at
    ) OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'ops', 'cause', 'failed', 'error', 1, '', {due_at})"""
_BACKFILL = """
    INSERT INTO tickwork.backfill (
        id, tenant_id, job_id, begin_at, end_at, times, max_active, run_order, policy, status
    ) OVERRIDING SYSTEM VALUE VALUES (
        1, 1, 1, now(), now(), ARRAY[now()], 1, 'oldest', 'missing', 'running')"""
_RETIRED_TASK = """
    INSERT INTO tickwork.task (tenant_id, name, parameters, retired_at, cancels_jobs)
    VALUES (1, 'old', '{}', now(), true)"""
_REVOKED_TARGET = """
    INSERT INTO tickwork.revocation (tenant_id, scheduled_for, job_id, attempt, worker_id, reason)
    VALUES (1, now(), 1, 1, 0, 'cancelled')"""
_FLAPPING_JOB = """
    INSERT INTO tickwork.flapping_job (channel_id, job_id, recoveries, changed_at, is_failing, is_told, example)
    VALUES (1, 1, 1, now(), false, false, '')"""
_UNSURE_PARENT = """
    INSERT INTO tickwork.awaited (child_id, child_at, parent_id, parent_at, tenant_id, unsure)
    VALUES (1, now(), 2, now(), 1, true)"""
_WORK = [
    ("backfill", _BACKFILL),
    ("cancel jobs of retired tasks", _RETIRED_TASK),
    (
        "check jobs of new tasks",
        "INSERT INTO tickwork.unchecked_job (job_id, tenant_id, task) VALUES (1, 1, 'new')",
    ),
    ("end callbacks", _WAIT.format(deadline="now()", poll_at=_HOUR)),
    ("end callbacks", _REVOKED_TARGET),
    ("notify", "UPDATE tickwork.last_event SET number = number + 1"),
    ("notify", _NOTIFICATION.format(due_at="now()")),
    ("notify", _FLAPPING_JOB),
    ("number events", "INSERT INTO tickwork.new_event (tenant_id, kind) VALUES (1, 'job.created')"),
    ("poll targets", _WAIT.format(deadline=_HOUR, poll_at="now()")),
    ("skip rounds", _UNSURE_PARENT),
]


@pytest.fixture
async def quiet(still_node: Node) -> Node:
    """All that a new node has to do is done."""
    await still_node.step("number events")
    while await still_node.step("notify"):
        pass
    return still_node


@pytest.mark.parametrize(
    ("loop", "work"), _WORK, ids=[f"{loop} {number}" for number, (loop, _) in enumerate(_WORK)]
)
async def test_a_loop_that_has_work_is_found(
    loop: str, work: str, quiet: Node, connection: asyncpg.Connection
) -> None:
    looks = LoopsWithWork(quiet._database)
    assert await looks.read() == set()
    await connection.execute(
        "SET session_replication_role = replica"
    )  # one row is enough, without those it refers to
    await connection.execute(work)
    assert await looks.read() == {loop}


async def test_what_is_not_due_yet_is_no_work(quiet: Node, connection: asyncpg.Connection) -> None:
    await connection.execute("SET session_replication_role = replica")
    await connection.execute(_WAIT.format(deadline=_HOUR, poll_at=_HOUR))
    await connection.execute(_NOTIFICATION.format(due_at=_HOUR))
    assert await LoopsWithWork(quiet._database).read() == set()


async def test_every_loop_that_waits_for_work_is_looked_for(still_node: Node) -> None:
    waiting = {name for name, loop in still_node._loops._loops.items() if loop.only_with_work}
    queued_and_pings = {"release queued", "watch pings"}  # their own tests run on nodes whose loops run
    assert waiting == {loop for loop, _ in _WORK} | queued_and_pings
