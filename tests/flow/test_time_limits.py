"""Attempts end on time, whoever has them and however deaf it is."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.execution import AttemptOutcome, AttemptView, ExecutionView
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import from_micros
from tickwork.model.requires_limits_fair_share import Limit
from tickwork.model.worker_protocol import Claim, Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ONCE = RetryRequest(max_attempts=1)
SOON = RetryRequest(initial="1s", jitter=0.0)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was away before."""
    monkeypatch.setattr("tickwork.record.time_limits._GRACE", 0.0)
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0.0)


def claim(run: Run) -> Claim:
    return Claim(run.tenant, run.at, run.job, run.attempt)


async def create(node: Node, count: int = 1, **fields: Any) -> None:
    job = JobRequest(task="work", **{"timeout": "1m", "retry": ONCE, **fields})
    await node.jobs.create(TENANT, [job] * count)


async def started(node: Node, worker: ScriptedWorker, count: int = 1, **fields: Any) -> list[Run]:
    """Executions whose start the worker has reported."""
    await create(node, count, **fields)
    await run_due(node)
    runs = await worker.runs()
    await worker.beat([(claim(run), run.not_before) for run in runs])
    await node.step("record")
    return runs


async def enforce(node: Node) -> None:
    while await node.step("enforce time limits"):
        pass


async def execution(node: Node, run: Run) -> ExecutionView:
    return await node.history.get(TENANT, run.job, from_micros(run.at))


async def attempts(node: Node, run: Run) -> list[AttemptView]:
    return await node.history.attempts(TENANT, run.job, from_micros(run.at))


async def test_a_worker_that_ignores_the_timeout_loses_the_attempt(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await started(still_node, worker)
    await later(clock, worker, 65 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "running"  # the worker may stop it itself
    await later(clock, worker, 10 * SECOND)
    await enforce(still_node)
    ended = await execution(still_node, run)
    assert (ended.status, ended.reason) == ("failed", "attempts used up")
    assert ended.error
    assert (ended.error.type, ended.error.message) == (
        "Timeout",
        "did not end within 60 s, and its worker did not stop it",
    )
    (attempt,) = await attempts(still_node, run)
    assert (attempt.outcome, attempt.started_at) == (AttemptOutcome.FAILED, from_micros(run.not_before))


async def test_its_worker_is_told_to_stop_it_and_its_slot_is_free(
    still_node: Node, clock: SettableClock
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=1)
    (run,) = await started(still_node, worker)
    await create(still_node)
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    await still_node.step("revoke")
    (revoke,) = await worker.revokes()
    assert (revoke.items, revoke.reason) == ([claim(run)], "timed out")
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_the_retry_policy_decides_what_is_next(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await started(still_node, worker, retry=SOON)
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).waiting_for == "retry"
    await still_node.step("revoke")
    await later(clock, worker, 2 * SECOND)
    await run_due(still_node)
    (again,) = await worker.runs()
    assert (again.job, again.attempt) == (run.job, 2)


async def test_errors_that_are_not_to_be_retried_are_not(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await started(still_node, worker, retry=RetryRequest(never_on=["Timeout"]))
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).reason == "not to be retried: Timeout is in never_on"


async def test_a_job_that_must_not_run_twice_because_of_a_worker_is_not_retried(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await started(still_node, worker, retry=SOON, on_worker_lost="fail")
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    ended = await execution(still_node, run)
    assert (ended.status, ended.reason) == ("failed", "not to be retried")


@pytest.mark.parametrize("is_revoked", [True, False])
async def test_a_late_report_changes_nothing(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, *, is_revoked: bool
) -> None:
    (run,) = await started(still_node, worker, retry=SOON)
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    if is_revoked:
        await still_node.step("revoke")
    await worker.complete(run, b'"late"')
    found = await execution(still_node, run)
    assert (found.status, found.attempt, found.result) == ("pending", 2, None)
    assert [each.outcome for each in await attempts(still_node, run)] == ["failed"]


async def test_a_worker_that_comes_back_with_the_attempt_is_told_to_forget_it(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await started(still_node, worker, retry=SOON)
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    back = await worker.come_back([run])
    assert back.welcome
    assert back.welcome.forget == [claim(run)]
    await still_node.step("revoke")
    await back.complete(run)
    assert (await execution(still_node, run)).status == "pending"


async def test_a_worker_that_never_says_anything_about_an_attempt_loses_it(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await create(still_node)
    await run_due(still_node)
    (run,) = await worker.runs()
    await later(clock, worker, 120 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "running"  # it may wait for a slot
    await later(clock, worker, 20 * SECOND)
    await enforce(still_node)
    ended = await execution(still_node, run)
    assert ended.status == "failed"
    assert ended.error
    assert ended.error.message == "did not end within 60 s, and its worker never reported its start"


async def test_a_start_that_is_reported_late_counts(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await create(still_node)
    await run_due(still_node)
    (run,) = await worker.runs()
    await later(clock, worker, 125 * SECOND)
    await worker.beat([(claim(run), run.not_before + 120_000_000)])
    await still_node.step("record")
    await later(clock, worker, 60 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "running"
    await later(clock, worker, 10 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "failed"


@pytest.mark.parametrize("said", [3_600_000_000, 60_000_000])
async def test_a_start_that_is_reported_again_and_again_gives_no_more_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, said: int
) -> None:
    (run,) = await started(still_node, worker)
    for _ in range(8):
        await later(clock, worker, 10 * SECOND)
        await worker.beat([(claim(run), run.not_before + said)])
        await still_node.step("record")
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "failed"


async def test_an_attempt_that_a_worker_got_again_has_its_own_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    """The first lease still lists it, because another execution of that lease runs."""
    first, other = await started(still_node, worker, 2, timeout="10m", retry=SOON)
    await enforce(still_node)
    await later(clock, worker, 620 * SECOND)
    await worker.fail(first, Failure("ValueError", "no"))
    await later(clock, worker, 2 * SECOND)
    await run_due(still_node)
    (again,) = await worker.runs()
    assert (again.job, again.attempt) == (first.job, 2)
    await later(clock, worker, 100 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, again)).status == "running"
    assert (await execution(still_node, other)).waiting_for == "retry"


async def test_limits_and_leases_are_free_at_once(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    two = [Limit("customer", max_running=2)]
    await started(still_node, worker, 4, limits=two)
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0
    await run_due(still_node)
    assert len(await worker.runs()) == 2


async def test_only_what_took_too_long_is_ended(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await create(still_node, timeout="1m")
    await create(still_node, timeout="1h")
    await create(still_node, timeout="7d")
    await run_due(still_node)
    short, hour, week = runs = await worker.runs()
    await worker.beat([(claim(run), run.not_before) for run in runs])
    await still_node.step("record")
    for _ in range(4):
        await later(clock, worker, 20 * MINUTE)
        await enforce(still_node)
    assert [(await execution(still_node, run)).status for run in (short, hour, week)] == [
        "failed",
        "failed",
        "running",
    ]


async def test_a_lease_whose_limits_are_far_away_is_not_looked_at_again_and_again(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await started(still_node, worker, timeout="1h")
    await later(clock, worker, 6 * MINUTE)  # it is slow by now
    await enforce(still_node)
    due = await connection.fetchval("SELECT check_at - leased_at FROM tickwork.lease")
    assert due == timedelta(hours=1, seconds=10)


async def test_of_a_silent_worker_rescue_decides(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await started(still_node, worker, timeout="1s", retry=SOON)
    await clock.advance(12 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "running"
    await clock.advance(4 * SECOND)
    await still_node.step("rescue")
    assert [each.outcome for each in await attempts(still_node, run)] == ["lost"]


async def test_nodes_that_look_at_the_same_time_end_each_attempt_once(
    nodes: list[Node], clock: SettableClock
) -> None:
    worker = await ScriptedWorker.connect(nodes[0], ["work"])
    runs = [run for _ in range(20) for run in await started(nodes[0], worker, retry=SOON)]
    await later(clock, worker, 75 * SECOND)
    await asyncio.gather(*(node.step("enforce time limits") for node in nodes * 3))
    for run in runs:
        assert [each.outcome for each in await attempts(nodes[0], run)] == ["failed"]
        assert (await execution(nodes[1], run)).attempt == 2


async def test_the_workers_own_report_and_a_node_end_it_once(nodes: list[Node], clock: SettableClock) -> None:
    worker = await ScriptedWorker.connect(nodes[0], ["work"])
    runs = await started(nodes[0], worker, 30, retry=SOON)
    await later(clock, worker, 75 * SECOND)
    await asyncio.gather(worker.report_all(runs[:15]), *(node.step("enforce time limits") for node in nodes))
    await enforce(nodes[1])
    for run in runs:
        found, tries = await execution(nodes[0], run), await attempts(nodes[0], run)
        if found.status == "completed":
            assert [each.outcome for each in tries] == ["completed"]
        else:
            assert (found.attempt, [each.outcome for each in tries]) == (2, ["failed"])


async def test_another_node_ends_what_a_dead_node_found(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = await started(still_node, worker)
    await later(clock, worker, 75 * SECOND)
    with monkeypatch.context() as dying:
        dying.setattr("tickwork.record.time_limits._GRACE", 1e9)  # it looks, and does nothing
        await enforce(still_node)
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "running"
    await later(clock, worker, 10 * SECOND)
    await enforce(still_node)
    assert (await execution(still_node, run)).status == "failed"


async def test_workers_get_time_to_report_after_an_outage(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.record.time_limits._GRACE", 600.0)
    (run,) = await started(still_node, worker)
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    await worker.complete(run)
    assert (await execution(still_node, run)).status == "completed"


async def test_a_lease_of_which_nothing_is_left_is_closed(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    """Such as after a cancellation, while its worker was disconnected."""
    (run,) = await started(still_node, worker)
    await worker.leave_silently()
    await still_node.history.cancel(TENANT, run.job, from_micros(run.at))
    await clock.advance(6 * SECOND)
    await enforce(still_node)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0


async def test_it_is_found_as_timed_out_and_told_as_failed(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await started(still_node, worker)
    await later(clock, worker, 75 * SECOND)
    await enforce(still_node)
    while await still_node.step("number events"):
        pass
    store = still_node.event_feed._store
    events = await store.events_of(TENANT, 0, await store.last_number(), 500)
    (failed,) = [each.event for each in events if each.event.kind == "execution.failed"]
    assert (failed.error_type, failed.attempt) == ("Timeout", run.attempt)
