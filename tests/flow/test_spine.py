"""From a definition to its record, through every stage, step by step on a clock that stands still."""

from datetime import timedelta

import asyncpg
import msgspec

from support.node_steps import later, run_due
from tickwork.model.execution import ExecutionFilter, ExecutionStatus
from tickwork.model.job import JobRequest, JobStatus, RetryRequest
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


async def test_runs_a_job_without_a_schedule_at_once(still_node: Node, worker: ScriptedWorker) -> None:
    (job,) = await still_node.jobs.create(TENANT, [JobRequest(task="work", payload={"n": 1})])
    await still_node.step("claim")
    (run,) = await worker.runs()
    assert run.payload == b'{"n":1}'
    await worker.complete(run, b'{"done":true}')
    execution = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items[0]
    assert execution.status == ExecutionStatus.COMPLETED
    assert bytes(execution.result) == b'{"done":true}'
    assert (await still_node.jobs.get(TENANT, 1)).status == JobStatus.COMPLETED
    assert job.id == execution.job_id


async def test_fires_a_rule_once_per_due_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="allow")] * 3)
    for _ in range(5):
        await later(clock, worker, timedelta(minutes=1))
        await run_due(still_node)
    rows = await connection.fetch(
        "SELECT scheduled_for, count(*) FROM tickwork.execution GROUP BY 1 ORDER BY 1"
    )
    assert [row["count"] for row in rows] == [3] * 5
    assert len(await worker.runs()) == 15


async def test_hands_work_over_ahead_of_its_time_and_never_before_that(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    await later(clock, worker, timedelta(seconds=59))
    assert not await still_node.step("fire")
    await later(clock, worker, timedelta(milliseconds=800))
    await run_due(still_node)
    (run,) = await worker.runs()
    assert run.not_before == run.at
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (execution.status, execution.waiting_for) == ("pending", "due")


async def test_skips_a_due_time_while_the_last_one_still_runs(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    for _ in range(3):
        await later(clock, worker, timedelta(minutes=1))
        await run_due(still_node)
    statuses = [each.status for each in (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items]
    assert statuses == ["skipped", "skipped", "running"]
    (run,) = await worker.runs()
    await worker.complete(run)
    await later(clock, worker, timedelta(minutes=1))
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_coalesces_missed_due_times_and_keeps_count_of_them(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    await later(clock, worker, timedelta(minutes=100))
    await run_due(still_node)
    assert len(await worker.runs()) == 1
    missed = await connection.fetchval("SELECT sum(missed) FROM tickwork.round")
    assert missed == 99


async def test_retries_a_failure_after_its_backoff_and_then_gives_up(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    request = JobRequest(task="work", retry=RetryRequest(max_attempts=2, initial="10s", jitter=0))
    await still_node.jobs.create(TENANT, [_converted(request)])
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.fail(run, Failure("ValueError", "no"))
    await still_node.step("claim")
    assert await worker.runs() == []
    await later(clock, worker, timedelta(seconds=10))
    await still_node.step("claim")
    (again,) = await worker.runs()
    assert again.attempt == 2
    await worker.fail(again, Failure("ValueError", "still no", "Traceback"))
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (execution.status, execution.reason, execution.error.message) == (
        "failed",
        "attempts used up",
        "still no",
    )
    attempts = await still_node.history.attempts(TENANT, 1, execution.scheduled_for)
    assert [(each.attempt, each.outcome, each.error.message) for each in attempts] == [
        (1, "failed", "no"),
        (2, "failed", "still no"),
    ]


async def test_gives_what_a_dead_worker_held_to_another_and_refuses_its_late_answer(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    await clock.advance(timedelta(seconds=16))
    other = await ScriptedWorker.connect(still_node, tasks=["work"])
    await worker.leave_silently()
    await _rescue(still_node)
    await still_node.step("claim")
    (again,) = await other.runs()
    assert (again.job, again.at, again.attempt) == (run.job, run.at, 2)
    await other.complete(again, b'"second"')
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert bytes(execution.result) == b'"second"'
    attempts = await still_node.history.attempts(TENANT, 1, execution.scheduled_for)
    assert [each.outcome for each in attempts] == ["lost", "completed"]


async def test_a_worker_that_comes_back_goes_on_and_gets_what_it_never_received(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work"), JobRequest(task="work")])
    await still_node.step("claim")
    first, second = await worker.runs()
    back = await worker.come_back(holding=[first])
    (missing,) = await back.runs()
    assert (missing.job, missing.attempt) == (second.job, second.attempt)
    await back.complete(first)
    await back.complete(missing)
    statuses = {each.status for each in (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items}
    assert statuses == {ExecutionStatus.COMPLETED}


async def test_nothing_is_fired_after_a_pause_and_it_goes_on_after_resume(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    await later(clock, worker, timedelta(seconds=59, milliseconds=900))
    await run_due(still_node)
    await worker.runs()
    await still_node.jobs.pause(TENANT, 1)
    (ahead,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (ahead.status, ahead.reason) == ("skipped", "paused")
    await later(clock, worker, timedelta(minutes=5))
    await run_due(still_node)
    assert await worker.runs() == []
    await still_node.jobs.resume(TENANT, 1)
    await later(clock, worker, timedelta(minutes=1))
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_job_that_joins_a_round_fired_ahead_still_gets_its_due_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    request = JobRequest(task="work", schedule="every 1m")
    await still_node.jobs.create(TENANT, [request])
    await later(clock, worker, timedelta(seconds=59, milliseconds=900))
    await run_due(still_node)
    await worker.runs()
    (late,) = await still_node.jobs.create(TENANT, [request])
    await still_node.step("claim")
    (run,) = await worker.runs()
    assert run.job == 2
    assert late.id == "j2"


async def test_cancelling_a_job_ends_what_waits(still_node: Node, clock: SettableClock) -> None:
    await ScriptedWorker.offer_only(still_node, tasks=["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule={"in": "1h"})])
    job = await still_node.jobs.cancel(TENANT, 1)
    assert job.status == JobStatus.CANCELLED
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert execution.status == ExecutionStatus.CANCELLED


async def test_cancelling_a_running_execution_tells_its_worker_and_stands(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    await still_node.history.cancel(TENANT, 1, execution.scheduled_for)
    await still_node.step("revoke")
    (revoke,) = await worker.revokes()
    assert revoke.items[0].job == run.job
    await worker.complete(run, b"1")
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (execution.status, execution.result) == ("cancelled", None)


async def test_a_far_one_time_job_is_held_until_its_partition_exists(
    still_node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    await ScriptedWorker.offer_only(still_node, tasks=["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule={"in": "20d"})])
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 0
    await later(clock, None, timedelta(days=15))
    await still_node.step("maintain partitions")
    await still_node.step("create deferred")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 1


async def test_an_edit_moves_a_job_to_its_new_times(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    job = await still_node.jobs.patch(TENANT, 1, {"schedule": "every 1h"})
    assert job.schedule == {"every": 3600}
    await later(clock, worker, timedelta(minutes=59))
    await run_due(still_node)
    assert await worker.runs() == []
    await later(clock, worker, timedelta(minutes=1))
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_job_moved_within_its_due_second_still_gets_that_due_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    """Its old rule fired the time ahead, the edit took that back, and its new rule has the same time."""
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 30s", overlap="allow")])
    await later(clock, worker, timedelta(seconds=29, milliseconds=900))
    await run_due(still_node)
    await later(clock, worker, timedelta(seconds=30))
    await run_due(still_node)
    await worker.runs()
    await still_node.jobs.patch(TENANT, 1, {"schedule": "every 20s"})
    await run_due(still_node)
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(job=1), 10)).items
    assert (execution.status, execution.waiting_for, execution.attempt) == ("pending", "due", 2)
    (run,) = await worker.runs()
    assert (run.job, run.attempt) == (1, 2)


async def _rescue(node: Node) -> None:
    while not await node.step("rescue"):
        pass


def _converted(request: JobRequest) -> JobRequest:
    return msgspec.json.decode(msgspec.json.encode(request), type=JobRequest)


async def test_runs_only_so_many_times_and_a_pause_uses_none_up(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    schedule = {"every": "1m", "max_runs": 3}
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule=schedule, overlap="allow")])
    await later(clock, worker, timedelta(minutes=1))
    await run_due(still_node)
    await still_node.jobs.pause(TENANT, 1)
    await later(clock, worker, timedelta(minutes=5))
    await run_due(still_node)
    await still_node.jobs.resume(TENANT, 1)
    for _ in range(5):
        await later(clock, worker, timedelta(minutes=1))
        await run_due(still_node)
    assert len(await worker.runs()) == 3
    job = await still_node.jobs.get(TENANT, 1)
    assert (job.status, job.next_run_at) == ("completed", None)


async def test_an_edit_reaches_even_what_a_worker_was_handed_ahead_of_its_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", payload={"n": 1})])
    await later(clock, worker, timedelta(seconds=59, milliseconds=900))
    await run_due(still_node)
    (old,) = await worker.runs()
    await still_node.jobs.patch(TENANT, 1, {"payload": {"n": 2}})
    await still_node.step("revoke")
    (revoke,) = await worker.revokes()
    assert revoke.items[0].attempt == old.attempt
    await run_due(still_node)
    (new,) = await worker.runs()
    assert (new.at, new.attempt, new.payload) == (old.at, old.attempt + 1, b'{"n":2}')
