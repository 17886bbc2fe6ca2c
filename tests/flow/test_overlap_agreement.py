"""An overlap policy means the same when a rule fires a job, when the job joins late, and when somebody runs it now."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model import overlap
from tickwork.model.errors import Conflict
from tickwork.model.job import JobRequest
from tickwork.model.overlap import Overlap
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT, JOB = 1, 1
LIMIT = 3
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
Act = Callable[[Node, SettableClock, ScriptedWorker, Overlap], Awaitable[None]]

EXPECTED: dict[tuple[Overlap, str], str] = {
    ("allow", "nothing"): "runs",
    ("allow", "one"): "runs",
    ("allow", "full queue"): "runs",
    ("skip", "nothing"): "runs",
    ("skip", "one"): "is skipped: overlap",
    ("skip", "full queue"): "is skipped: overlap",
    ("queue", "nothing"): "runs",
    ("queue", "one"): "waits",
    ("queue", "full queue"): f"is skipped: overlap: {LIMIT} wait already",
    ("replace", "nothing"): "runs",
    ("replace", "one"): "replaces",
    ("replace", "full queue"): "replaces",
}


async def fire(node: Node, clock: SettableClock, worker: ScriptedWorker, _: Overlap) -> None:
    await later(clock, worker, MINUTE)
    await run_due(node)


async def join_late(node: Node, clock: SettableClock, worker: ScriptedWorker, _: Overlap) -> None:
    """The rule fires its next due time ahead, for another job, while this one is paused."""
    await node.jobs.pause(TENANT, JOB)
    await later(clock, worker, MINUTE - SECOND - timedelta(milliseconds=100))
    await run_due(node)
    await node.jobs.resume(TENANT, JOB)


async def run_now(node: Node, clock: SettableClock, worker: ScriptedWorker, policy: Overlap) -> None:
    await node.runs.run(TENANT, JOB, policy)


@pytest.mark.parametrize("act", [fire, join_late, run_now])
@pytest.mark.parametrize(("policy", "unended"), list(EXPECTED))
async def test_a_policy_means_the_same_in_every_way(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    policy: Overlap,
    unended: str,
    act: Act,
) -> None:
    monkeypatch.setattr(overlap, "QUEUE_LIMIT", LIMIT)
    requests = [JobRequest(task="work", schedule="every 1m", overlap=each) for each in (policy, "allow")]
    await still_node.jobs.create(TENANT, requests)
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    if unended == "nothing":
        await worker.report_all(await worker.runs())
    if unended == "full queue":
        for _ in range(LIMIT):
            await still_node.runs.run(TENANT, JOB, "queue")
    await later(clock, worker, SECOND)
    try:
        await act(still_node, clock, worker, policy)
    except Conflict as conflict:
        outcome = _refused(conflict)
    else:
        outcome = await _what_became(connection)
    assert outcome == EXPECTED[policy, unended]


def _refused(conflict: Conflict) -> str:
    """Run now records no execution when it is skipped: its caller is told."""
    if "wait for one another already" in str(conflict):
        return f"is skipped: overlap: {LIMIT} wait already"
    assert "has not ended" in str(conflict)
    return "is skipped: overlap"


async def _what_became(connection: asyncpg.Connection) -> str:
    first, *queued, last = await connection.fetch(
        "SELECT status::text, reason, blocked_by FROM tickwork.execution WHERE job_id = $1 ORDER BY scheduled_for",
        JOB,
    )
    if last["status"] == "skipped":
        return f"is skipped: {last['reason']}"
    if first["status"] == "cancelled":
        assert all(each["status"] == "cancelled" for each in queued)
        return "replaces"
    return "runs" if last["blocked_by"] is None else "waits"
