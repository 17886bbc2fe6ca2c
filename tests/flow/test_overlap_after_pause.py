"""A job leaves its rule for a while, and the rule goes on for others: what of it has not ended is still in the way."""

from datetime import timedelta

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.job import JobRequest
from tickwork.model.overlap import Overlap
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
_MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("skipped_before", [False, True])
async def test_what_ran_before_a_pause_is_in_the_way_after_it(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    skipped_before: bool,
) -> None:
    await still_node.jobs.create(
        TENANT,
        [JobRequest(task="work", schedule="every 1m", overlap=overlap) for overlap in ("skip", "allow")],
    )
    for _ in range(1 + skipped_before):
        await later(clock, worker, _MINUTE)
        await run_due(still_node)
    running = min(await worker.runs(), key=lambda run: (run.job, run.at))
    await still_node.jobs.pause(TENANT, running.job)
    for _ in range(3):
        await later(clock, worker, _MINUTE)
        await run_due(still_node)
    await still_node.jobs.resume(TENANT, running.job)
    await later(clock, worker, _MINUTE)
    await run_due(still_node)
    statuses = "SELECT status::text FROM tickwork.execution WHERE job_id = $1 ORDER BY scheduled_for"
    found = [row[0] for row in await connection.fetch(statuses, running.job)]
    assert found == ["running", *["skipped"] * skipped_before, "skipped"]


_OUTCOMES = {
    "skip": ["running", "skipped"],
    "queue": ["running", "pending"],
    "replace": ["cancelled", "pending"],
    "allow": ["running", "pending"],
}


@pytest.mark.parametrize("overlap", list(_OUTCOMES))
@pytest.mark.parametrize("act", ["resume", "edit"])
async def test_who_comes_late_to_a_due_time_that_was_fired_ahead_overlaps_no_more_than_others(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    overlap: Overlap,
    act: str,
) -> None:
    requests = [JobRequest(task="work", schedule="every 1m", overlap=each) for each in (overlap, "allow")]
    await still_node.jobs.create(TENANT, requests)
    await later(clock, worker, _MINUTE)
    await run_due(still_node)
    if act == "resume":
        await still_node.jobs.pause(TENANT, 1)
    else:
        await still_node.jobs.patch(TENANT, 1, {"schedule": "every 1h"})
    await later(clock, worker, timedelta(seconds=59, milliseconds=900))
    await run_due(still_node)
    if act == "resume":
        await still_node.jobs.resume(TENANT, 1)
    else:
        await still_node.jobs.patch(TENANT, 1, {"schedule": "every 1m"})
    statuses = "SELECT status::text FROM tickwork.execution WHERE job_id = 1 ORDER BY scheduled_for"
    assert [row[0] for row in await connection.fetch(statuses)] == _OUTCOMES[overlap]
