"""How a job is doing, as lists and its own page show it."""

from datetime import timedelta

import pytest

from support.node_steps import later, run_due
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionStatus
from tickwork.model.job import JobRequest, JobView, RetryRequest
from tickwork.model.job_filter import JobFilter
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
HOURLY = JobRequest(task="work", schedule="every 1h", retry=RetryRequest(max_attempts=1))
BROKEN = Failure("ValueError", "no", "Traceback …")


async def listed(node: Node) -> JobView:
    return (await node.jobs.list(TENANT, JobFilter(), 10)).items[-1]


async def run(
    node: Node, worker: ScriptedWorker, clock: SettableClock, failure: Failure | None = None
) -> None:
    await later(clock, worker, HOUR)
    await run_due(node)
    for each in await worker.runs():
        if failure:
            await worker.fail(each, failure)
        else:
            await worker.report(each, AttemptOutcome.COMPLETED, run_time=2.5)
    await node.step("read failing jobs")


async def test_a_job_that_never_ran_is_unknown(still_node: Node, worker: ScriptedWorker) -> None:
    (created,) = await still_node.jobs.create(TENANT, [HOURLY])
    assert await still_node.jobs.get(TENANT, 1) == created
    assert (created.health, created.last_run, created.running) == ("unknown", None, 0)


async def test_a_job_shows_its_last_run(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await still_node.jobs.create(TENANT, [HOURLY])
    await run(still_node, worker, clock)
    job = await listed(still_node)
    assert job.health == "ok"
    assert job.last_run is not None
    assert (job.last_run.status, job.last_run.duration) == (ExecutionStatus.COMPLETED, 2.5)


async def test_a_paused_job_shows_its_last_run_while_others_of_its_rule_go_on(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await still_node.jobs.create(TENANT, [HOURLY, HOURLY])
    await run(still_node, worker, clock)
    await still_node.jobs.pause(TENANT, 1)
    for _ in range(12):
        await run(still_node, worker, clock)
    paused = await still_node.jobs.get(TENANT, 1)
    assert paused.last_run is not None
    assert paused.health == "ok"


async def test_a_job_that_fails_recovers_and_fails_again_shows_it(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await still_node.jobs.create(TENANT, [HOURLY])
    shown = []
    for failure in (None, BROKEN, BROKEN, None, BROKEN):
        await run(still_node, worker, clock, failure)
        job = await listed(still_node)
        shown.append((job.health, job.failures_in_a_row, job.failing_since is not None))
    assert shown == [
        ("ok", 0, False),
        ("failing", 1, True),
        ("failing", 2, True),
        ("ok", 0, False),
        ("failing", 1, True),
    ]


async def test_what_runs_is_counted_even_if_later_due_times_were_skipped_for_it(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    for _ in range(30):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
    assert len(await worker.runs()) == 1
    assert (await listed(still_node)).running == 1


async def test_a_job_whose_execution_waits_for_a_worker_for_long_is_late(
    still_node: Node, clock: SettableClock
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    assert (await listed(still_node)).health == "unknown"
    await clock.advance(2 * MINUTE)
    assert (await listed(still_node)).health == "late"


async def test_a_job_that_waits_for_a_failed_parent_is_blocked(
    still_node: Node, worker: ScriptedWorker
) -> None:
    (parent,) = await still_node.jobs.create(TENANT, [JobRequest(task="work", retry=HOURLY.retry)])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", depends_on=[parent.id], name="child")])
    await run_due(still_node)
    (attempt,) = await worker.runs()
    await worker.fail(attempt, BROKEN)
    child = (await still_node.jobs.list(TENANT, JobFilter(), 10)).items[0]
    assert (child.name, child.health) == ("child", "blocked")
    await still_node.jobs.create(TENANT, [JobRequest(task="work", depends_on=[parent.id])])
    assert await blocked_reasons(still_node) == {"j2": ["parent j1 failed"], "j3": ["parent j1 failed"]}


@pytest.mark.parametrize("schedule", [None, "in 5m", "in 30d"])
async def test_a_job_that_waits_for_a_cancelled_parent_is_blocked(
    still_node: Node, schedule: str | None
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    (parent,) = await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule=schedule)])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", depends_on=[parent.id], name="child")])
    child = (await still_node.jobs.list(TENANT, JobFilter(), 10)).items[0]
    assert (child.name, child.health) == ("child", "unknown")
    await still_node.jobs.cancel(TENANT, 1)
    child = (await still_node.jobs.list(TENANT, JobFilter(), 10)).items[0]
    assert (child.name, child.health) == ("child", "blocked")
    assert await blocked_reasons(still_node) == {child.id: ["parent j1 was cancelled"]}


async def blocked_reasons(node: Node) -> dict[str | None, list[str]]:
    """What their events say, of the jobs that search finds to be blocked."""
    while await node.step("number events"):
        pass
    store = node.event_feed._store
    events = [each.event for each in await store.events_of(TENANT, 0, await store.last_number(), 100)]
    found = await node.history.list(TENANT, ExecutionFilter(blocked=True), 10)
    return {
        execution.job_id: [
            event.detail["reason"]
            for event in events
            if event.kind == "execution.blocked" and event.execution_id == execution.id
        ]
        for execution in found.items
    }


async def test_the_health_of_a_job_has_its_record_and_its_next_runs(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await still_node.jobs.create(TENANT, [HOURLY])
    for failure in (None, None, None, BROKEN):
        await run(still_node, worker, clock, failure)
    health = await still_node.job_health.get(TENANT, 1)
    assert (health.runs, health.success_share, health.typical_duration) == (4, 0.75, 2.5)
    assert health.health == "failing"
    assert [
        later - earlier for earlier, later in zip(health.next_runs, health.next_runs[1:], strict=False)
    ] == [HOUR] * 4
