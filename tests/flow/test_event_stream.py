"""What happens is written with the transaction that makes it true, numbered once, and followed in order."""

from contextlib import aclosing, suppress
from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import later, run_due
from tickwork.model.access import Caller, Scope
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.queue import QueueSettings
from tickwork.model.stream_event import EventFilter, NumberedEvent, StreamEvent
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
ONCE = RetryRequest(max_attempts=1)
BROKEN = Failure("ValueError", "row 17 of 99 is broken", "Traceback …")
ADMIN = Caller(TENANT, "default", 1, frozenset(Scope))


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"])


async def events(node: Node, after: int = 0) -> list[NumberedEvent]:
    """All news so far, numbered."""
    while await node.step("number events"):
        pass
    store = node.event_feed._store
    return await store.events_of(TENANT, after, await store.last_number(), 500)


async def kinds(node: Node, after: int = 0) -> list[str]:
    return [each.event.kind for each in await events(node, after)]


async def last(node: Node, kind: str) -> StreamEvent:
    return [each.event for each in await events(node) if each.event.kind == kind][-1]


async def create(node: Node, **job: Any) -> str:
    (view,) = await node.jobs.create(TENANT, [JobRequest(task="work", **job)])
    return view.id


async def run_next(node: Node, worker: ScriptedWorker, failure: Failure | None = None) -> None:
    await run_due(node)
    for run in await worker.runs():
        await (worker.fail(run, failure) if failure else worker.complete(run))


async def test_an_execution_that_completes_on_time_writes_no_event(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await create(still_node)
    place = (await events(still_node))[-1].number
    await run_next(still_node, worker)
    assert await kinds(still_node, place) == []


async def test_a_failure_is_an_event_with_its_error_and_cause(
    still_node: Node, worker: ScriptedWorker
) -> None:
    job = await create(still_node, retry=ONCE, name="report", key="weekly", tags=["billing"])
    await run_next(still_node, worker, BROKEN)
    event = await last(still_node, "execution.failed")
    assert (event.job_id, event.job_name, event.job_key, event.task) == (job, "report", "weekly", "work")
    assert event.execution_id is not None
    assert event.execution_id.startswith("e")
    assert (event.error_type, event.detail["message"]) == ("ValueError", "row 17 of 99 is broken")
    assert event.fingerprint is not None


async def test_a_job_that_fails_recovers_and_fails_again_shows_it(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await create(still_node, schedule="every 1h", retry=ONCE)
    place = (await events(still_node))[-1].number
    for failure in (BROKEN, BROKEN, None, None, BROKEN):
        await later(clock, worker, HOUR)
        await run_next(still_node, worker, failure)
        await still_node.step("read failing jobs")
    assert await kinds(still_node, place) == [
        "execution.failed",
        "execution.failed",
        "execution.recovered",
        "execution.failed",
    ]
    assert (await last(still_node, "execution.recovered")).detail["failures"] == 2


async def test_a_job_recovers_also_on_a_node_that_did_not_know_that_it_failed(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await create(still_node, schedule="every 1h", retry=ONCE)
    for failure in (BROKEN, None):
        await later(clock, worker, HOUR)
        await run_next(still_node, worker, failure)
    await still_node.step("read failing jobs")
    assert (await kinds(still_node))[-2:] == ["execution.failed", "execution.recovered"]
    await still_node.step("read failing jobs")
    assert still_node._recorder._failing.jobs == frozenset()


async def test_a_retry_and_a_snooze_are_events(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await create(still_node)
    await run_next(still_node, worker, BROKEN)
    assert (await kinds(still_node))[-1] == "execution.retrying"
    assert "next_attempt_at" in (await last(still_node, "execution.retrying")).detail
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.report(run, AttemptOutcome.SNOOZED, snooze=30.0)
    assert (await kinds(still_node))[-1] == "execution.snoozed"


async def test_what_starts_late_or_takes_long_is_an_event(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await create(still_node)
    await run_due(still_node)
    (run,) = await worker.runs()
    await later(clock, worker, 12 * MINUTE)
    await worker.report(run, AttemptOutcome.COMPLETED, start_delay=120, run_time=600)
    assert {"execution.late", "execution.slow"} <= {*await kinds(still_node)}
    assert (await last(still_node, "execution.slow")).detail["run_time"] == pytest.approx(600, abs=5)


async def test_changes_of_jobs_queues_and_keys_are_events(still_node: Node, worker: ScriptedWorker) -> None:
    await create(still_node, schedule="@hourly")
    place = (await events(still_node))[-1].number
    await still_node.jobs.patch(TENANT, 1, {"name": "other"})
    await still_node.jobs.pause(TENANT, 1)
    await still_node.jobs.resume(TENANT, 1)
    await still_node.jobs.cancel(TENANT, 1)
    await still_node.queues.set(TENANT, "default", QueueSettings(max_running=3))
    await still_node.queues.set(TENANT, "default", QueueSettings(max_running=3, max_workers=2))
    await still_node.queues.pause(TENANT, "default")
    await still_node.queues.resume(TENANT, "default")
    await still_node.keys.create(ADMIN, "ci", [Scope.READ])
    assert await kinds(still_node, place) == [
        "job.changed",
        "job.paused",
        "job.resumed",
        "job.cancelled",
        "queue.changed",
        "queue.changed",
        "queue.paused",
        "queue.resumed",
        "key.created",
    ]


async def test_a_batch_of_new_jobs_is_one_event(still_node: Node, worker: ScriptedWorker) -> None:
    place = len(await events(still_node))
    await still_node.jobs.create_many(TENANT, [JobRequest(task="work", schedule="@daily")] * 20)
    (event,) = (await events(still_node))[place:]
    assert (event.event.kind, event.event.detail["count"]) == ("job.created", 20)


async def test_nothing_is_an_event_that_was_rolled_back(still_node: Node, worker: ScriptedWorker) -> None:
    place = (await events(still_node))[-1].number
    with suppress(ZeroDivisionError):
        async with still_node._database.transaction():
            await create(still_node)
            raise ZeroDivisionError
    assert await kinds(still_node, place) == []


async def test_a_skipped_execution_says_why(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    await create(still_node, schedule="every 1m")
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    assert (await last(still_node, "execution.skipped")).detail == {"reason": "overlap"}


async def test_a_worker_that_joins_or_leaves_is_an_event(still_node: Node, worker: ScriptedWorker) -> None:
    assert (await last(still_node, "worker.joined")).detail["name"] == "scripted"


async def test_numbers_are_in_the_order_in_which_transactions_commit(nodes: list[Node]) -> None:
    """The first transaction has its place before the second and commits after it: a reader that has seen the second
    must still see the first."""
    first, second, _ = nodes
    await ScriptedWorker.offer_only(first, ["work"])
    await create(first, name="earlier")  # makes the lane, for which the second would have to wait
    async with first._database.transaction():
        await create(first, name="first")
        await create(second, name="second")
        seen = await events(second)
        assert seen[-1].event.job_name == "second"
    assert [each.event.job_name for each in await events(first, seen[-1].number)] == ["first"]


async def test_a_follower_gets_what_happened_since_and_what_happens_then(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await create(still_node, name="before")
    await still_node.step("number events")
    async with aclosing(still_node.event_feed.follow(TENANT, EventFilter(job="j1"), 0)) as stream:
        first = await anext(stream)
        assert first is not None
        assert first.event.kind == "job.created"
        await still_node.jobs.cancel(TENANT, 1)
        await still_node.step("number events")
        rest = [each async for each in until(stream, "execution.cancelled")]
    assert [each.event.kind for each in rest] == ["job.cancelled", "execution.cancelled"]


async def until(stream: Any, kind: str) -> Any:
    async for each in stream:
        if each is not None:
            yield each
            if each.event.kind == kind:
                return
