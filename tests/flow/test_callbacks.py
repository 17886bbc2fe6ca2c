"""HTTP jobs that finish later, step by step: what a target that has answered 202 may report, and when it loses it."""

from collections.abc import AsyncIterator
from datetime import timedelta

import asyncpg
import msgspec
import pytest

from support.callback_node import TENANT, CallbackNode, name_of
from support.node_steps import later
from tickwork.config import Settings
from tickwork.model.dead_letter import DeadLetterFilter
from tickwork.model.errors import Conflict, StaleAttempt
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionStatus, WaitingFor
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.overlap import Overlap
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.model.queue import QueueSettings
from tickwork.model.requires_limits_fair_share import Limit
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import Accepted, Failure, Outcome
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ONCE = RetryRequest(max_attempts=1)
AGAIN = RetryRequest(max_attempts=2, initial=0.0, jitter=0.0)


@pytest.fixture
async def target(clock: SettableClock, settings: Settings) -> AsyncIterator[CallbackNode]:
    opened = await CallbackNode.open(settings)
    yield opened
    await opened.node.stop()


async def waits(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("SELECT count(*) FROM tickwork.callback_wait")


async def leases(connection: asyncpg.Connection) -> int:
    return await connection.fetchval("SELECT count(*) FROM tickwork.lease")


async def test_an_accepted_execution_runs_without_a_worker(
    target: CallbackNode, connection: asyncpg.Connection
) -> None:
    run = await target.accepted()
    execution = await target.execution(run)
    assert (execution.status, execution.waiting_for) == (ExecutionStatus.RUNNING, WaitingFor.CALLBACK)
    assert execution.worker is None
    assert execution.started_at is not None
    (attempt,) = await target.attempts(run)
    assert (attempt.attempt, attempt.outcome, attempt.worker) == (1, None, None)
    (worker,) = (await target.node.workers.list(TENANT, 10)).items
    assert worker.holding == 0
    assert (await waits(connection), await leases(connection)) == (1, 1)


async def test_completing_ends_it_with_its_result(
    target: CallbackNode, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    run = await target.accepted(within=3 * 86_400)
    await later(clock, target.worker, timedelta(days=2))
    await target.node.step("read clock")
    answer = await target.complete(run, {"pages": 12})
    assert (answer.id, answer.attempt, answer.outcome) == (name_of(run), 1, AttemptOutcome.COMPLETED)
    execution = await target.execution(run)
    assert (execution.status, bytes(execution.result)) == (ExecutionStatus.COMPLETED, b'{"pages":12}')
    assert execution.waiting_for is None
    assert execution.finished_at - execution.started_at >= timedelta(days=2)
    assert [attempt.outcome for attempt in await target.attempts(run)] == [AttemptOutcome.COMPLETED]
    assert (await waits(connection), await leases(connection)) == (0, 0)


async def test_a_repeated_report_is_answered_as_before(target: CallbackNode) -> None:
    run = await target.accepted()
    first = await target.complete(run, 1)
    assert await target.complete(run, 2) == first
    assert bytes((await target.execution(run)).result) == b"1"
    with pytest.raises(StaleAttempt, match="the execution is completed"):
        await target.fail(run)
    with pytest.raises(StaleAttempt):
        await target.progress(run, fraction=0.5)
    with pytest.raises(StaleAttempt):
        await target.heartbeat(run)


async def test_a_failure_is_retried_by_the_policy_and_fences_the_first_attempt(
    target: CallbackNode, connection: asyncpg.Connection
) -> None:
    first = await target.accepted(retry=AGAIN)
    failed = await target.fail(first)
    assert failed.outcome is AttemptOutcome.FAILED
    assert await target.fail(first) == failed
    (second,) = await target.take()
    assert second.attempt == 2
    await target.accept(second)
    with pytest.raises(StaleAttempt, match="it ended as failed, and the execution is at attempt 2"):
        await target.complete(first)
    assert await waits(connection) == 1
    await target.fail(second)
    execution = await target.execution(second)
    assert (execution.status, execution.reason) == (ExecutionStatus.FAILED, "attempts used up")
    assert execution.error.type == "OutOfPaper"
    assert [attempt.outcome for attempt in await target.attempts(second)] == ["failed", "failed"]
    letters = await target.node.dead_letters.list(TENANT, DeadLetterFilter(), 10)
    assert [letter.id for letter in letters.items] == [name_of(first)]


async def test_a_failure_that_must_not_be_retried_is_final(target: CallbackNode) -> None:
    run = await target.accepted(retry=AGAIN)
    await target.fail(run, retry=False)
    assert (await target.execution(run)).status is ExecutionStatus.FAILED


async def test_progress_and_log_lines_of_the_target_are_shown(target: CallbackNode) -> None:
    run = await target.accepted()
    await target.progress(run, fraction=0.5, message="half", log=["page 1", "page 2"])
    await target.progress(run, log=["page 2", "page 3"], first_line=1)
    execution = await target.execution(run)
    assert (execution.progress.fraction, execution.progress.message) == (0.5, "half")
    page = await target.node.logs.page(TENANT, *parse_execution_id(name_of(run)), None, 10)
    assert [line.text for line in page.items] == ["page 1", "page 2", "page 3"]


async def test_without_a_report_it_times_out_and_is_tried_again(
    target: CallbackNode, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    run = await target.accepted(within=3600, retry=AGAIN)
    await later(clock, target.worker, HOUR - MINUTE)
    await target.enforce()
    assert (await target.execution(run)).status is ExecutionStatus.RUNNING
    await later(clock, target.worker, 2 * MINUTE)
    await target.enforce()
    (attempt,) = await target.attempts(run)
    assert (attempt.outcome, attempt.error.type) == (AttemptOutcome.FAILED, "Timeout")
    assert (await waits(connection), await leases(connection)) == (0, 0)
    found = await target.node.history.list(TENANT, ExecutionFilter(timed_out=True), 10)
    assert [each.id for each in found.items] == [name_of(run)]
    (second,) = await target.take()
    assert second.attempt == 2


async def test_a_missing_heartbeat_loses_the_attempt(target: CallbackNode, clock: SettableClock) -> None:
    run = await target.accepted(within=10 * 3600, heartbeat=300)
    for _ in range(5):
        await later(clock, target.worker, 4 * MINUTE)
        kept = await target.heartbeat(run)
        await target.enforce()
        now = (await target.execution(run)).started_at
        assert kept.deadline > now
    await later(clock, target.worker, 5 * MINUTE)
    await target.enforce()
    (attempt,) = await target.attempts(run)
    assert (attempt.outcome, attempt.error.type) == (AttemptOutcome.LOST, "HeartbeatLost")
    (second,) = await target.take()
    assert second.attempt == 2
    with pytest.raises(StaleAttempt, match="it ended as lost"):
        await target.heartbeat(run)


async def test_progress_counts_as_a_heartbeat(target: CallbackNode, clock: SettableClock) -> None:
    run = await target.accepted(heartbeat=300)
    await later(clock, target.worker, 4 * MINUTE)
    await target.progress(run, fraction=0.1)
    await later(clock, target.worker, 4 * MINUTE)
    await target.enforce()
    assert (await target.execution(run)).status is ExecutionStatus.RUNNING


async def test_heartbeats_do_not_extend_the_timeout(target: CallbackNode, clock: SettableClock) -> None:
    run = await target.accepted(within=400, heartbeat=300, retry=ONCE)
    await later(clock, target.worker, 4 * MINUTE)
    await target.heartbeat(run)
    await later(clock, target.worker, 3 * MINUTE)
    await target.enforce()
    execution = await target.execution(run)
    assert (execution.status, execution.error.type) == (ExecutionStatus.FAILED, "Timeout")


async def test_a_heartbeat_after_its_time_is_refused_though_no_node_has_looked(
    target: CallbackNode, clock: SettableClock
) -> None:
    run = await target.accepted(heartbeat=300)
    await later(clock, target.worker, 6 * MINUTE)
    with pytest.raises(StaleAttempt, match="its time was over"):
        await target.heartbeat(run)


async def test_completing_after_its_time_counts_if_no_node_has_looked(
    target: CallbackNode, clock: SettableClock
) -> None:
    run = await target.accepted(heartbeat=300)
    await later(clock, target.worker, 6 * MINUTE)
    await target.complete(run)
    await target.enforce()
    assert (await target.execution(run)).status is ExecutionStatus.COMPLETED


async def test_a_target_may_report_before_its_answer_is_recorded(
    target: CallbackNode, connection: asyncpg.Connection
) -> None:
    await target.create()
    (run,) = await target.take()
    await target.progress(run, fraction=0.9)
    assert (await target.heartbeat(run)).deadline is None
    await target.complete(run, "early")
    await target.accept(run)
    execution = await target.execution(run)
    assert (execution.status, bytes(execution.result)) == (ExecutionStatus.COMPLETED, b'"early"')
    assert (await waits(connection), await leases(connection)) == (0, 0)


async def test_a_target_that_fails_after_it_has_completed_by_callback_changes_nothing(
    target: CallbackNode,
) -> None:
    await target.create()
    (run,) = await target.take()
    await target.complete(run)
    await target.worker.fail(run, Failure("Http500", "it crashed afterwards"))
    assert (await target.execution(run)).status is ExecutionStatus.COMPLETED


async def test_the_death_of_the_node_that_called_loses_nothing(
    target: CallbackNode, clock: SettableClock, settings: Settings
) -> None:
    run = await target.accepted(within=10 * 3600)
    await target.worker.leave_silently()
    other = await CallbackNode.open(settings)
    try:
        await later(clock, other.worker, LEASE + MINUTE)
        await other.node.step("rescue")
        assert (await other.execution(run)).status is ExecutionStatus.RUNNING
        await other.complete(run)
        assert (await other.execution(run)).status is ExecutionStatus.COMPLETED
    finally:
        await other.node.stop()


async def test_a_node_that_died_before_it_recorded_the_answer_hands_the_attempt_on(
    target: CallbackNode, clock: SettableClock, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target has accepted; nobody but the target knows it. It is called again, and its first token is worthless."""
    await target.create()
    (first,) = await target.take()
    await target.worker.leave_silently()
    other = await CallbackNode.open(settings)
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0)
    try:
        await later(clock, other.worker, LEASE + MINUTE)
        while await other.node.step("rescue"):
            pass
        (second,) = await other.take()
        assert (second.job, second.at, second.attempt) == (first.job, first.at, 2)
        with pytest.raises(StaleAttempt, match="it ended as lost"):
            await other.complete(first)
    finally:
        await other.node.stop()


async def test_a_target_completes_what_the_dead_node_could_not_record(
    target: CallbackNode, clock: SettableClock, settings: Settings
) -> None:
    await target.create()
    (run,) = await target.take()
    await target.worker.leave_silently()
    other = await CallbackNode.open(settings)
    try:
        await other.complete(run)
        await later(clock, other.worker, LEASE + MINUTE)
        await other.node.step("rescue")
        assert (await other.execution(run)).status is ExecutionStatus.COMPLETED
        assert await other.take() == []
    finally:
        await other.node.stop()


async def test_a_long_wait_outlives_restarts_of_every_node(
    clock: SettableClock, settings: Settings, connection: asyncpg.Connection
) -> None:
    """Two days, a heartbeat every four hours, and never the same node twice."""
    target = await CallbackNode.open(settings)
    run = await target.accepted(within=7 * 86_400, heartbeat=5 * 3600)
    await target.node.stop()
    for part in range(12):
        await clock.advance(4 * HOUR)
        target = await CallbackNode.open(settings)
        await target.enforce()
        while await target.node.step("rescue"):
            pass
        await target.heartbeat(run)
        await target.progress(run, fraction=part / 12)
        assert await target.take() == []
        await target.node.stop()
    target = await CallbackNode.open(settings)
    try:
        await target.complete(run, "done")
        execution = await target.execution(run)
        assert (execution.status, execution.attempt) == (ExecutionStatus.COMPLETED, 1)
        assert (await waits(connection), await leases(connection)) == (0, 0)
    finally:
        await target.node.stop()


async def test_a_report_whose_answer_was_lost_is_repeated_at_another_node(
    target: CallbackNode, settings: Settings
) -> None:
    other = await CallbackNode.open(settings)
    try:
        done = await target.accepted()
        assert await target.complete(done, 1) == await other.complete(done, 1)
        failed = await target.accepted(retry=AGAIN)
        assert await target.fail(failed) == await other.fail(failed)
        assert (await other.execution(failed)).attempt == 2
    finally:
        await other.node.stop()


async def test_an_acceptance_that_is_recorded_twice_counts_once(
    target: CallbackNode, connection: asyncpg.Connection
) -> None:
    """The answer to the commit was lost, and the node writes the batch again."""
    await target.create()
    (run,) = await target.take()
    outcome = Outcome(
        run.tenant, run.at, run.job, 1, AttemptOutcome.ACCEPTED, run.at, run.at, accepted=Accepted(3600)
    )
    worker = target.worker.welcome.worker
    for _ in range(2):
        target.node._recorder.submit(worker, [outcome], [1], [], lambda: None)
        await target.node.step("record")
    assert await waits(connection) == 1
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease WHERE worker_id = 0") == 1
    assert (await target.execution(run)).waiting_for is WaitingFor.CALLBACK


async def test_the_time_limit_of_workers_is_not_that_of_targets(
    target: CallbackNode, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timeout of the job was shortened since: what its target accepted keeps the time that it was given."""
    monkeypatch.setattr("tickwork.record.time_limits._GRACE", 0)
    run = await target.accepted(within=7 * 86_400, timeout="5m")
    for _ in range(3):
        await later(clock, target.worker, HOUR)
        while await target.node.step("enforce time limits"):
            pass
        await target.enforce()
    assert (await target.execution(run)).status is ExecutionStatus.RUNNING
    await target.complete(run)


async def test_cancelling_ends_the_wait_and_tells_the_target(
    target: CallbackNode, connection: asyncpg.Connection
) -> None:
    run = await target.accepted()
    await target.node.history.cancel(TENANT, *parse_execution_id(name_of(run)))
    with pytest.raises(StaleAttempt, match="cancelled"):
        await target.heartbeat(run)
    await target.node.step("end callbacks")
    assert (await waits(connection), await leases(connection)) == (0, 0)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.revocation") == 0
    assert (await target.execution(run)).status is ExecutionStatus.CANCELLED


async def test_a_cancelled_execution_is_retried_once_its_wait_has_ended(target: CallbackNode) -> None:
    run = await target.accepted()
    place = parse_execution_id(name_of(run))
    await target.node.history.cancel(TENANT, *place)
    with pytest.raises(Conflict, match="try again in a moment"):
        await target.node.dead_letters.retry(TENANT, *place)
    await target.node.step("end callbacks")
    await target.node.dead_letters.retry(TENANT, *place)
    (second,) = await target.take()
    await target.accept(second)
    await target.complete(second)
    assert (await target.execution(second)).status is ExecutionStatus.COMPLETED


async def test_the_wait_for_an_attempt_that_was_taken_away_does_not_outlive_the_next(
    target: CallbackNode, connection: asyncpg.Connection
) -> None:
    run = await target.accepted()
    await connection.execute(
        "UPDATE tickwork.execution SET status = 'pending', ready_at = tickwork.clock(), worker_id = NULL, attempt = 2"
    )
    (second,) = await target.take()
    await target.accept(second)
    assert (await waits(connection), await leases(connection)) == (1, 1)
    with pytest.raises(StaleAttempt, match="it was taken back, and the execution is at attempt 2"):
        await target.complete(run)
    await target.complete(second)
    assert (await waits(connection), await leases(connection)) == (0, 0)


async def test_pausing_the_job_leaves_what_its_target_works_on(target: CallbackNode) -> None:
    job = parse_job_id(await target.create())
    (run,) = await target.take()
    await target.accept(run)
    await target.node.jobs.pause(TENANT, job)
    await target.heartbeat(run)
    await target.complete(run)
    assert (await target.execution(run)).status is ExecutionStatus.COMPLETED


async def test_a_retry_of_a_paused_job_waits_for_its_resumption(target: CallbackNode) -> None:
    job = parse_job_id(await target.create(retry=AGAIN))
    (run,) = await target.take()
    await target.accept(run)
    await target.node.jobs.pause(TENANT, job)
    await target.fail(run)
    assert await target.take() == []
    await target.node.jobs.resume(TENANT, job)
    assert [again.attempt for again in await target.take()] == [2]


@pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
async def test_the_next_due_time_finds_it_running(
    target: CallbackNode, clock: SettableClock, connection: asyncpg.Connection, overlap: Overlap
) -> None:
    await target.create(schedule="every 1h", overlap=overlap)
    await later(clock, target.worker, HOUR)
    (first,) = await target.take()
    await target.accept(first, within=10 * 3600)
    await later(clock, target.worker, HOUR)
    runs = await target.take()
    statuses = [each.status for each in (await target.node.history.list(TENANT, ExecutionFilter(), 10)).items]
    match overlap:
        case "skip":
            assert (runs, statuses) == ([], ["skipped", "running"])
        case "queue":
            assert (runs, statuses) == ([], ["pending", "running"])
            await target.complete(first)
            await target.node.step("release queued")
            assert len(await target.take()) == 1
        case "replace":
            assert (len(runs), statuses) == (1, ["running", "cancelled"])
            await target.node.step("end callbacks")
            assert await waits(connection) == 0
            with pytest.raises(StaleAttempt, match="replaced by the next one"):
                await target.complete(first)


async def test_it_counts_under_limits_while_it_waits(target: CallbackNode) -> None:
    await target.node.queues.set(TENANT, "print", QueueSettings(max_running=1))
    first = await target.accepted(queue="print")
    await target.create(queue="print")
    await target.node.step("clean up slots")
    assert await target.take() == []
    assert (await target.node.queues.get(TENANT, "print")).running == 1
    await target.complete(first)
    assert len(await target.take()) == 1


async def test_a_limit_that_is_set_later_counts_it_too(target: CallbackNode) -> None:
    first = await target.accepted(queue="print")
    await target.node.queues.set(TENANT, "print", QueueSettings(max_running=1))
    await target.create(queue="print")
    assert await target.take() == []
    await target.complete(first)
    assert len(await target.take()) == 1


async def test_a_limit_by_key_counts_only_what_names_it(target: CallbackNode) -> None:
    limit = [Limit("printer", max_running=1)]
    first = await target.accepted(limits=limit)
    await target.create(limits=limit)
    await target.create()
    (free,) = await target.take()
    await target.accept(free)
    await target.complete(first)
    assert len(await target.take()) == 1


async def test_editing_the_job_does_not_disturb_what_its_target_works_on(target: CallbackNode) -> None:
    job = await target.create()
    (run,) = await target.take()
    await target.accept(run, within=10 * 3600)
    await target.node.jobs.patch(
        TENANT, parse_job_id(job), {"http": {"completion": "answer"}, "timeout": "1s"}
    )
    await target.heartbeat(run)
    await target.complete(run)
    assert (await target.node.jobs.get(TENANT, parse_job_id(job))).status == "completed"


async def test_why_says_that_the_target_has_it(target: CallbackNode) -> None:
    run = await target.accepted(heartbeat=300)
    why = await target.node.reasons.of(TENANT, *parse_execution_id(name_of(run)))
    assert why.summary.startswith("Its HTTP target accepted it")
    assert [cause.kind for cause in why.causes] == ["running"]


async def test_executions_that_wait_for_callbacks_are_found(target: CallbackNode) -> None:
    run = await target.accepted()
    await target.create()
    found = await target.node.history.list(TENANT, ExecutionFilter(waiting_for=WaitingFor.CALLBACK), 10)
    assert [each.id for each in found.items] == [name_of(run)]


async def test_a_day_with_a_waiting_execution_is_kept(
    clock: SettableClock, settings: Settings, connection: asyncpg.Connection
) -> None:
    brief = msgspec.structs.replace(settings, history_days=1)
    target = await CallbackNode.open(brief)
    try:
        run = await target.accepted(within=7 * 86_400)
        for _ in range(5):
            await later(clock, target.worker, timedelta(days=1))
            while await target.node.step("maintain partitions"):
                pass
        assert (await target.execution(run)).status is ExecutionStatus.RUNNING
        await target.complete(run)
        while await target.node.step("maintain partitions"):
            pass
        assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 0
    finally:
        await target.node.stop()


async def test_only_http_targets_can_accept_attempts(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", retry=ONCE)])
    while await still_node.step("fire") or await still_node.step("claim"):
        pass
    (run,) = await worker.runs()
    await worker.report(run, AttemptOutcome.ACCEPTED, accepted=Accepted(3600))
    execution = await still_node.history.get(TENANT, *parse_execution_id(name_of(run)))
    assert (execution.status, execution.error.type) == (ExecutionStatus.FAILED, "BadOutcome")
