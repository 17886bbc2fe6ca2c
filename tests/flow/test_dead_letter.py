"""What ended as failed is kept, and redriven or discarded once, whoever does what at the same time."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model import dead_letter
from tickwork.model.backfill import BackfillRequest
from tickwork.model.dead_letter import DeadLetterChoice, DeadLetterFilter, DeadLetterView, RedrivePace
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import AttemptOutcome, ExecutionKey, ExecutionView
from tickwork.model.job import JobRequest, OnWorkerLost, RetryRequest
from tickwork.model.public_ids import from_micros, parse_execution_id, parse_job_id
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ONCE = RetryRequest(max_attempts=1)
BROKEN = Failure("ValueError", "no", "Traceback …")
ALL = DeadLetterChoice()


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work", "other"])


async def fail(node: Node, worker: ScriptedWorker, count: int = 1, **job: Any) -> list[Run]:
    """So many new jobs whose only attempt fails."""
    await node.jobs.create(TENANT, [JobRequest(task="work", retry=ONCE, **job) for _ in range(count)])
    return await fail_again(node, worker)


async def fail_again(node: Node, worker: ScriptedWorker, failure: Failure = BROKEN) -> list[Run]:
    runs = await handed_out(node, worker)
    for run in runs:
        await worker.fail(run, failure)
    return runs


async def handed_out(node: Node, worker: ScriptedWorker) -> list[Run]:
    await run_due(node)
    return await worker.runs()


async def letters(node: Node, **wanted: Any) -> list[DeadLetterView]:
    return (await node.dead_letters.list(TENANT, DeadLetterFilter(**wanted), 500)).items


async def look(node: Node, run: Run) -> ExecutionView:
    return await node.history.get(TENANT, run.job, from_micros(run.at))


def key(run: Run) -> ExecutionKey:
    return ExecutionKey(TENANT, from_micros(run.at), run.job)


async def test_used_up_attempts_make_a_dead_letter_and_earlier_ones_do_not(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(
        TENANT, [JobRequest(task="work", name="report", retry=RetryRequest(max_attempts=2))]
    )
    await fail_again(still_node, worker)
    assert await letters(still_node) == []
    await later(clock, worker, MINUTE)
    (run,) = await fail_again(still_node, worker)
    (letter,) = await letters(still_node)
    execution = await look(still_node, run)
    assert (letter.id, letter.failed_at) == (execution.id, execution.finished_at)
    assert (letter.job_name, letter.task, letter.queue, letter.trigger) == (
        "report",
        "work",
        "default",
        "schedule",
    )
    assert (letter.attempts, letter.reason) == (2, "attempts used up")
    assert (letter.error.type, letter.error.message, letter.error.traceback) == ("ValueError", "no", None)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (Failure("NoRetry", "why", retry=False), "not to be retried"),
        (Failure("a.B", "no", kinds=["a.B", "OSError"]), "not to be retried: OSError is in never_on"),
    ],
)
async def test_what_is_not_to_be_retried_is_a_dead_letter_at_once(
    still_node: Node, worker: ScriptedWorker, failure: Failure, reason: str
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", retry=RetryRequest(never_on=["OSError"]))])
    await fail_again(still_node, worker, failure)
    assert [letter.reason for letter in await letters(still_node)] == [reason]


@pytest.mark.parametrize(("on_worker_lost", "workers"), [("fail", 1), ("retry", 3)])
async def test_lost_workers_make_a_dead_letter(
    clock: SettableClock,
    still_node: Node,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    on_worker_lost: OnWorkerLost,
    workers: int,
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0)
    await ScriptedWorker.offer_only(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", on_worker_lost=on_worker_lost)])
    for _ in range(workers):
        worker = await ScriptedWorker.connect(still_node, ["work"])
        assert await handed_out(still_node, worker)
        assert await letters(still_node) == []
        await worker.leave_silently()
        await clock.advance(MINUTE)
        while await still_node.step("rescue"):
            pass
    (letter,) = await letters(still_node, error=dead_letter.WORKER_LOST)
    assert (letter.attempts, letter.error) == (workers, None)
    assert letter.reason.startswith("worker lost" if workers == 1 else "quarantined")


async def test_nothing_else_makes_one(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")] * 4)
    runs = await handed_out(still_node, worker)
    await worker.complete(runs[0])
    await worker.report(runs[1], AttemptOutcome.CANCELLED, reason="enough")
    await worker.report(runs[2], AttemptOutcome.SNOOZED, snooze=1.0)
    await worker.report(runs[3], AttemptOutcome.RETURNED)
    assert await letters(still_node) == []


async def test_a_type_with_a_null_character_does_not_hold_up_the_record(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", retry=RetryRequest(only_on=["A"]))])
    (run,) = await fail_again(still_node, worker, Failure("B\0ad", "no\0"))
    assert (await look(still_node, run)).reason == "not to be retried: Bad is not in only_on"
    assert len(await letters(still_node, error="Bad")) == 1


async def test_a_redriven_execution_is_the_same_with_all_its_attempts_anew(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    request = JobRequest(task="work", retry=RetryRequest(max_attempts=2))
    await still_node.jobs.create(TENANT, [request])
    first = await fail_again(still_node, worker)
    await later(clock, worker, MINUTE)
    first += await fail_again(still_node, worker)
    before = await look(still_node, first[0])
    done = await still_node.dead_letters.redrive(TENANT, ALL)
    assert (done.redriven, done.refused, done.not_found) == (1, [], [])
    waiting = await look(still_node, first[0])
    assert (waiting.id, waiting.trigger) == (before.id, before.trigger)
    assert (waiting.status, waiting.attempt, waiting.max_attempts) == ("pending", 3, 4)
    assert (waiting.reason, waiting.error, waiting.finished_at, waiting.worker) == (None, None, None, None)
    assert await letters(still_node) == []
    await later(clock, worker, MINUTE)
    await fail_again(still_node, worker)
    assert (await look(still_node, first[0])).status == "pending"  # it has two attempts again
    await later(clock, worker, MINUTE)
    (last,) = await fail_again(still_node, worker)
    ended = await look(still_node, last)
    assert (ended.status, ended.attempt, ended.max_attempts) == ("failed", 4, 4)
    attempts = await still_node.history.attempts(TENANT, last.job, from_micros(last.at))
    assert [(each.attempt, each.outcome) for each in attempts] == [(n, "failed") for n in range(1, 5)]
    assert len(await letters(still_node)) == 1


async def test_a_late_word_of_an_earlier_attempt_does_not_touch_a_redriven_one(
    still_node: Node, worker: ScriptedWorker
) -> None:
    (old,) = await fail(still_node, worker)
    await still_node.dead_letters.redrive(TENANT, ALL)
    (new,) = await handed_out(still_node, worker)
    assert new.attempt == old.attempt + 1
    await worker.complete(old)
    assert (await look(still_node, new)).status == "running"


async def test_the_status_of_a_job_that_is_due_once_follows(still_node: Node, worker: ScriptedWorker) -> None:
    (run,) = await fail(still_node, worker)
    assert (await still_node.jobs.get(TENANT, run.job)).status == "failed"
    await still_node.dead_letters.redrive(TENANT, ALL)
    assert (await still_node.jobs.get(TENANT, run.job)).status == "active"
    (again,) = await handed_out(still_node, worker)
    await worker.complete(again)
    assert (await still_node.jobs.get(TENANT, run.job)).status == "completed"


async def test_two_at_once_redrive_each_one_once(
    settings: Settings, still_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.record.dead_letters.CHUNK", 3)
    await fail(still_node, worker, count=20)
    other = Node(settings)
    await other.open()
    done = await asyncio.gather(*(node.dead_letters.redrive(TENANT, ALL) for node in (still_node, other) * 3))
    assert sum(each.redriven for each in done) == 20
    runs = await handed_out(still_node, worker)
    assert [run.attempt for run in runs] == [2] * 20
    await other.stop()


async def test_what_is_discarded_and_redriven_at_once_is_one_of_the_two(
    settings: Settings, still_node: Node, worker: ScriptedWorker
) -> None:
    runs = await fail(still_node, worker, count=20)
    other = Node(settings)
    await other.open()
    keys = DeadLetterChoice([key(run) for run in runs])
    redriven, discarded = await asyncio.gather(
        still_node.dead_letters.redrive(TENANT, keys), other.dead_letters.discard(TENANT, keys)
    )
    assert redriven.redriven + discarded.discarded == 20
    assert len(redriven.not_found) == 20 - redriven.redriven
    assert len(await handed_out(still_node, worker)) == redriven.redriven
    await other.stop()


async def test_retry_redrive_and_backfill_at_once_give_one_attempt(
    settings: Settings, clock: SettableClock, still_node: Node, worker: ScriptedWorker
) -> None:
    (job,) = await still_node.jobs.create(
        TENANT, [JobRequest(task="work", schedule="every 1m", overlap="allow", retry=ONCE)]
    )
    runs: list[Run] = []
    for _ in range(5):
        await later(clock, worker, MINUTE)
        runs += await fail_again(still_node, worker)
    first, last = key(runs[0]), key(runs[-1])
    request = BackfillRequest(
        from_=first.scheduled_for, to=last.scheduled_for, policy="failed", max_active=10
    )
    await still_node.backfills.start(TENANT, first.job_id, request)
    other = Node(settings)
    await other.open()
    await asyncio.gather(
        still_node.step("backfill"),
        other.dead_letters.redrive(TENANT, ALL),
        *(still_node.dead_letters.retry(TENANT, run.job, from_micros(run.at)) for run in runs),
        return_exceptions=True,
    )
    assert await letters(still_node) == []
    handed = [run for run in await handed_out(still_node, worker) if run.at <= runs[-1].at]
    assert [(run.at, run.attempt) for run in sorted(handed, key=lambda run: run.at)] == [
        (run.at, 2) for run in runs
    ]
    assert parse_job_id(job.id) == first.job_id
    await other.stop()


async def test_a_rate_spreads_them_out_in_the_order_they_failed(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.record.dead_letters.CHUNK", 2)
    runs: list[Run] = []
    for _ in range(5):
        runs += await fail(still_node, worker)
        await later(clock, worker, SECOND)
    now = (await still_node.dead_letters.redrive(TENANT, DeadLetterChoice([]))).as_of
    done = await still_node.dead_letters.redrive(TENANT, ALL, RedrivePace(interval=MINUTE, most=4))
    assert (done.redriven, done.last_at) == (4, now + 3 * MINUTE)
    due = [(await look(still_node, run)).due_at for run in runs]
    assert due[:4] == [now + number * MINUTE for number in range(4)]
    assert [letter.id for letter in await letters(still_node)] == [(await look(still_node, runs[4])).id]
    for run in runs[:4]:  # as durable as anything that waits: each is handed out when its time has come
        assert [each.job for each in await handed_out(still_node, worker)] == [run.job]
        await later(clock, worker, MINUTE)


async def test_what_fails_again_meanwhile_is_not_redriven_again(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    (run,) = await fail(still_node, worker)
    as_of = (await still_node.dead_letters.redrive(TENANT, ALL)).as_of
    await later(clock, worker, SECOND)
    await fail_again(still_node, worker)
    done = await still_node.dead_letters.redrive(
        TENANT, DeadLetterChoice(None, DeadLetterFilter(until=as_of))
    )
    assert done.redriven == 0
    assert (await look(still_node, run)).status == "failed"


async def test_those_of_a_cancelled_job_are_refused_and_do_not_stand_in_the_way(
    still_node: Node, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.record.dead_letters.CHUNK", 1)
    gone, kept = await fail(still_node, worker, count=2)
    await still_node.jobs.cancel(TENANT, gone.job, None)
    done = await still_node.dead_letters.redrive(TENANT, ALL)
    assert done.redriven == 1
    (refused,) = done.refused
    assert (parse_execution_id(refused.id)[0], refused.reason) == (gone.job, "job j1 is cancelled")
    assert (await look(still_node, kept)).status == "pending"
    assert [letter.id for letter in await letters(still_node)] == [refused.id]
    with pytest.raises(Conflict, match="job j1 is cancelled"):
        await still_node.dead_letters.retry(TENANT, gone.job, from_micros(gone.at))
    assert len(await letters(still_node)) == 1  # a refused retry leaves it as it was


async def test_one_of_a_paused_job_waits_until_it_is_resumed(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", retry=ONCE)])
    await later(clock, worker, MINUTE)
    (run,) = await fail_again(still_node, worker)
    await still_node.jobs.pause(TENANT, run.job)
    await still_node.dead_letters.redrive(TENANT, ALL)
    assert (await look(still_node, run)).waiting_for == "paused"
    assert await handed_out(still_node, worker) == []
    await still_node.jobs.resume(TENANT, run.job)
    assert [each.attempt for each in await handed_out(still_node, worker)] == [2]


async def test_it_is_run_as_its_job_is_now(still_node: Node, worker: ScriptedWorker) -> None:
    (run,) = await fail(still_node, worker)
    await still_node.jobs.patch(TENANT, run.job, {"task": "other", "payload": {"n": 2}}, None)
    assert [letter.task for letter in await letters(still_node)] == ["work"]
    await still_node.dead_letters.redrive(TENANT, ALL)
    (again,) = await handed_out(still_node, worker)
    assert (again.task, again.payload) == ("other", b'{"n":2}')


async def test_discarding_leaves_the_execution_failed_and_retryable(
    still_node: Node, worker: ScriptedWorker
) -> None:
    (run,) = await fail(still_node, worker)
    for discarded in (1, 0):
        assert (await still_node.dead_letters.discard(TENANT, ALL)).discarded == discarded
    assert (await look(still_node, run)).status == "failed"
    assert await letters(still_node) == []
    with pytest.raises(Conflict, match="no dead letter"):
        await still_node.dead_letters.retry_job(TENANT, run.job)
    assert (await still_node.dead_letters.retry(TENANT, run.job, from_micros(run.at))).status == "pending"


async def test_retry_takes_what_failed_or_was_cancelled_and_nothing_else(
    still_node: Node, worker: ScriptedWorker
) -> None:
    (failed,) = await fail(still_node, worker)
    retried = await still_node.dead_letters.retry(TENANT, failed.job, from_micros(failed.at))
    assert (retried.status, retried.attempt) == ("pending", 2)
    assert await letters(still_node) == []
    for status in ("pending", "running", "completed"):
        with pytest.raises(Conflict, match=f"is {status}"):
            await still_node.dead_letters.retry(TENANT, failed.job, from_micros(failed.at))
        if status == "pending":
            (again,) = await handed_out(still_node, worker)
        elif status == "running":
            await worker.complete(again)
    with pytest.raises(NotFound):
        await still_node.dead_letters.retry(TENANT, 99, from_micros(failed.at))


async def test_a_cancelled_one_is_retried_once_its_worker_has_let_go(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    (run,) = await handed_out(still_node, worker)
    at = from_micros(run.at)
    await still_node.history.cancel(TENANT, run.job, at)
    with pytest.raises(Conflict, match="told to stop"):
        await still_node.dead_letters.retry(TENANT, run.job, at)
    await still_node.step("revoke")
    await worker.report(run, AttemptOutcome.CANCELLED)
    await still_node.step("revoke")
    assert (await still_node.dead_letters.retry(TENANT, run.job, at)).attempt == 2
    assert [each.attempt for each in await handed_out(still_node, worker)] == [2]


async def test_retrying_a_job_takes_its_last_failure(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", retry=ONCE)])
    runs = []
    for _ in range(2):
        await later(clock, worker, MINUTE)
        runs += await fail_again(still_node, worker)
    for run in reversed(runs):
        retried = await still_node.dead_letters.retry_job(TENANT, run.job)
        assert retried.scheduled_for == from_micros(run.at)
    with pytest.raises(Conflict, match="no dead letter"):
        await still_node.dead_letters.retry_job(TENANT, run.job)
    with pytest.raises(NotFound):
        await still_node.dead_letters.retry_job(TENANT, 99)


async def test_an_attempt_that_used_up_no_try_comes_on_top(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", retry=RetryRequest(max_attempts=2))])
    (run,) = await handed_out(still_node, worker)
    assert ((await look(still_node, run)).attempt, (await look(still_node, run)).max_attempts) == (1, 2)
    await worker.report(run, AttemptOutcome.SNOOZED, snooze=1.0)
    for expected in ((2, 3), (3, 3)):
        await later(clock, worker, MINUTE)
        execution = await look(still_node, run)
        assert (execution.attempt, execution.max_attempts) == expected
        await fail_again(still_node, worker)
    ended = await look(still_node, run)
    assert (ended.status, ended.attempt, ended.max_attempts) == ("failed", 3, 3)


async def test_dead_letters_go_with_the_history_they_belong_to(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, database_url: str
) -> None:
    await fail(still_node, worker)
    await clock.advance(timedelta(days=5))
    database = Database(database_url, size=1)
    await database.open()
    await Partitions(database, history_days=30).keep_up()
    assert len(await letters(still_node)) == 1
    await Partitions(database, history_days=3).keep_up()
    assert await letters(still_node) == []
    await database.close()


async def test_a_redrive_keeps_the_partition_of_what_begins_anew(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, database_url: str
) -> None:
    (run,) = await fail(still_node, worker)
    await clock.advance(timedelta(days=5))
    database = Database(database_url, size=1)
    await database.open()
    await asyncio.gather(
        still_node.dead_letters.redrive(TENANT, ALL), Partitions(database, history_days=3).keep_up()
    )
    found = await still_node.dead_letters.list(TENANT, DeadLetterFilter(), 1)
    try:
        assert (await look(still_node, run)).status == "pending"
    except NotFound:
        assert found.items == []
    await database.close()
