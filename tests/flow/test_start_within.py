"""What has waited for too long to be useful is skipped, with the reason, and never once it has started."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.backfill import BackfillRequest
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionView
from tickwork.model.job import Dependency, JobRequest, RetryRequest
from tickwork.model.public_ids import from_micros, parse_execution_id, parse_job_id
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
SKIPPED = ("skipped", "not started within 600 s of its due time")


@pytest.fixture(autouse=True)
async def offered(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])


async def create(node: Node, **job: Any) -> str:
    """Its job's id."""
    (view,) = await node.jobs.create(TENANT, [JobRequest(task="work", **{"start_within": "10m", **job})])
    return view.id


async def only_execution(node: Node, job: str) -> ExecutionView:
    (found,) = await executions(node, job)
    return found


async def executions(node: Node, job: str) -> list[ExecutionView]:
    return (await node.history.list(TENANT, ExecutionFilter(job=parse_job_id(job)), 100, None)).items


async def give_up(node: Node) -> None:
    while await node.step("give up unstarted"):
        pass


async def test_what_waits_too_long_for_a_worker_is_skipped(still_node: Node, clock: SettableClock) -> None:
    job = await create(still_node)
    await clock.advance(9 * MINUTE)
    await give_up(still_node)
    assert (await only_execution(still_node, job)).status == "pending"
    await clock.advance(1 * MINUTE)
    await give_up(still_node)
    ended = await only_execution(still_node, job)
    assert (ended.status, ended.reason, ended.started_at) == (*SKIPPED, None)
    assert (await still_node.jobs.get(TENANT, parse_job_id(job))).status == "skipped"
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    assert await worker.runs() == []


async def test_it_is_not_handed_over_after_an_outage_of_all_nodes(
    still_node: Node, clock: SettableClock
) -> None:
    """A claim may come before the loop that skips it."""
    late = await create(still_node)
    await clock.advance(2 * MINUTE)
    fresh = await create(still_node)
    await clock.advance(9 * MINUTE)
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    (run,) = await worker.runs()
    assert run.job == parse_job_id(fresh)
    await give_up(still_node)
    assert (await only_execution(still_node, late)).status == "skipped"


async def test_a_due_time_that_is_caught_up_too_late_is_skipped(
    still_node: Node, clock: SettableClock
) -> None:
    job = await create(still_node, schedule="every 1h")
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await later(clock, worker, 75 * MINUTE)
    await run_due(still_node)
    await give_up(still_node)
    assert await worker.runs() == []
    ended = await only_execution(still_node, job)
    assert (ended.status, ended.reason) == SKIPPED


async def test_a_due_time_that_is_fired_in_time_runs(still_node: Node, clock: SettableClock) -> None:
    await create(still_node, schedule="every 1h")
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await later(clock, worker, 61 * MINUTE)
    await run_due(still_node)
    assert len(await worker.runs()) == 1


@pytest.mark.parametrize("kind", [AttemptOutcome.FAILED, AttemptOutcome.SNOOZED])
async def test_a_retry_is_never_given_up(
    still_node: Node, clock: SettableClock, kind: AttemptOutcome
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    job = await create(still_node, retry=RetryRequest(initial="1s"))
    await run_due(still_node)
    (run,) = await worker.runs()
    failed = {"failure": Failure("ValueError", "no")} if kind is AttemptOutcome.FAILED else {"snooze": 1.0}
    await worker.report(run, kind, **failed)
    await later(clock, worker, 60 * MINUTE)
    await give_up(still_node)
    assert (await only_execution(still_node, job)).status == "pending"
    await run_due(still_node)
    assert [each.attempt for each in await worker.runs()] == [2]


async def test_what_a_worker_returned_unstarted_is_given_up(still_node: Node, clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    job = await create(still_node)
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.report(run, AttemptOutcome.RETURNED)
    await later(clock, worker, 11 * MINUTE)
    await give_up(still_node)
    assert (await only_execution(still_node, job)).status == "skipped"


async def test_what_runs_is_left_alone(still_node: Node, clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    job = await create(still_node, timeout="1h")
    await run_due(still_node)
    (run,) = await worker.runs()
    await later(clock, worker, 11 * MINUTE)
    await give_up(still_node)
    assert (await only_execution(still_node, job)).status == "running"
    await worker.complete(run)


async def test_what_somebody_makes_run_again_is_not_given_up(still_node: Node, clock: SettableClock) -> None:
    job = await create(still_node)
    number, at = parse_execution_id((await only_execution(still_node, job)).id)
    await still_node.history.cancel(TENANT, number, at)
    await clock.advance(60 * MINUTE)
    await still_node.dead_letters.retry(TENANT, number, at)
    await give_up(still_node)
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_backfill_runs_what_was_due_long_ago(still_node: Node, clock: SettableClock) -> None:
    job = parse_job_id(await create(still_node, schedule="every 1m"))
    now = (await still_node.jobs.get(TENANT, job)).created_at
    await still_node.backfills.start(
        TENANT, job, BackfillRequest(from_=now - 40 * MINUTE, to=now - 39 * MINUTE)
    )
    while await still_node.step("backfill"):
        pass
    await give_up(still_node)
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    assert len(await worker.runs()) >= 1


async def test_whatever_it_waits_for_it_is_given_up_and_so_are_those_that_depend_on_it(
    still_node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    parent = await create(still_node, start_within=None)
    child = await create(still_node, depends_on=[parent])
    grandchild = await create(still_node, start_within=None, depends_on=[child])
    always = await create(still_node, start_within=None, depends_on=[Dependency(child, on="any outcome")])
    await clock.advance(11 * MINUTE)
    await give_up(still_node)
    ended = await only_execution(still_node, child)
    assert (ended.status, ended.reason) == SKIPPED
    follower = await only_execution(still_node, grandchild)
    assert (follower.status, follower.reason) == (
        "skipped",
        f"parent {child} was skipped: not started within 600 s of its due time",
    )
    assert (await only_execution(still_node, always)).waiting_for == "worker"
    assert await connection.fetchval("SELECT count(*) FROM tickwork.awaited") == 0
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    for run in await worker.runs():
        await worker.complete(run)
    assert (await only_execution(still_node, child)).status == "skipped"


async def test_an_execution_that_waits_for_the_one_before_it_is_given_up(
    still_node: Node, clock: SettableClock
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    job = await create(still_node, schedule="every 20m", overlap="queue", timeout="2h")
    await later(clock, worker, 20 * MINUTE)
    await run_due(still_node)
    (first,) = await worker.runs()
    for _ in range(2):
        await later(clock, worker, 20 * MINUTE)
        await run_due(still_node)
        await give_up(still_node)
    await worker.complete(first)
    while await still_node.step("release queued"):
        pass
    await run_due(still_node)
    (run,) = await worker.runs()
    found = {each.scheduled_for: each.status for each in await executions(still_node, job)}
    assert sorted(found.values()) == ["completed", "running", "skipped"]
    assert found[from_micros(run.at)] == "running"


async def test_a_pause_does_not_stop_the_clock(still_node: Node, clock: SettableClock) -> None:
    job = await create(still_node)
    await still_node.jobs.pause(TENANT, parse_job_id(job))
    await clock.advance(11 * MINUTE)
    await give_up(still_node)
    assert (await only_execution(still_node, job)).reason == SKIPPED[1]


async def test_an_edit_applies_to_what_waits(still_node: Node, clock: SettableClock) -> None:
    job = await create(still_node)
    await still_node.jobs.patch(TENANT, parse_job_id(job), {"start_within": "1h"})
    await clock.advance(11 * MINUTE)
    await give_up(still_node)
    assert (await only_execution(still_node, job)).status == "pending"
    await still_node.jobs.patch(TENANT, parse_job_id(job), {"start_within": "5m"})
    await give_up(still_node)
    assert (await only_execution(still_node, job)).reason == "not started within 300 s of its due time"


async def test_nodes_and_claims_at_the_same_time_either_skip_it_or_run_it(
    still_node: Node, clock: SettableClock, settings: Settings
) -> None:
    jobs = [await create(still_node, start_within="1m") for _ in range(20)]
    other = Node(settings)
    await other.open()
    worker = await ScriptedWorker.connect(other, ["work"])
    await later(clock, worker, 60 * SECOND)
    await asyncio.gather(
        still_node.step("give up unstarted"), other.step("claim"), other.step("give up unstarted")
    )
    runs = {run.job for run in await worker.runs()}
    for job in jobs:
        status = (await only_execution(still_node, job)).status
        assert status == ("running" if parse_job_id(job) in runs else "skipped")
    await other.stop()


async def test_it_is_told_and_said_ahead(still_node: Node, clock: SettableClock) -> None:
    job = await create(still_node)
    number, at = parse_execution_id((await only_execution(still_node, job)).id)
    why = await still_node.reasons.of(TENANT, number, at)
    assert why.give_up_at == at + 10 * MINUTE
    assert why.summary.endswith(
        f"It is skipped if it has not started by {at + 10 * MINUTE:%Y-%m-%d %H:%M:%S} UTC."
    )
    await clock.advance(11 * MINUTE)
    await give_up(still_node)
    while await still_node.step("number events"):
        pass
    store = still_node.event_feed._store
    events = await store.events_of(TENANT, 0, await store.last_number(), 500)
    (skipped,) = [each.event for each in events if each.event.kind == "execution.skipped"]
    assert (skipped.job_id, skipped.detail["reason"]) == (job, SKIPPED[1])
