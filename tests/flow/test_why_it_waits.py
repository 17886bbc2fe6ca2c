"""Why an execution does not run, as any node tells it from the database."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from support.node_steps import later, run_due
from tickwork.model.circuit_breaker import BreakerKey, CallResult, CallVerdict, count_calls, tally_of
from tickwork.model.errors import NotFound
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionView
from tickwork.model.http_target import HttpTarget, destination_of
from tickwork.model.job import HTTP_TASK, JobRequest, RetryRequest
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.queue import QueueSettings
from tickwork.model.requires_limits_fair_share import Limit, Requires
from tickwork.model.why_waiting import Cause, Why
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"], name="box-1")


async def submit(node: Node, **fields: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(**{"task": "work", **fields})])


async def executions(node: Node) -> list[ExecutionView]:
    """Oldest first."""
    return (await node.history.list(TENANT, ExecutionFilter(), 500)).items[::-1]


async def why(node: Node, place: int = -1) -> Why:
    return await node.reasons.of(TENANT, *parse_execution_id((await executions(node))[place].id))


async def only_cause(node: Node, place: int = -1) -> Cause:
    (cause,) = (await why(node, place)).causes
    return cause


async def test_running_and_ended(still_node: Node, worker: ScriptedWorker) -> None:
    await submit(still_node)
    await run_due(still_node)
    assert (await why(still_node)).summary == "Worker box-1 has it."
    await worker.report_all(await worker.runs())
    reasons = await why(still_node)
    assert (reasons.status, reasons.causes[0].kind) == ("completed", "ended")


async def test_due(still_node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    await submit(still_node, schedule="in 10m")
    reasons = await why(still_node)
    assert [cause.kind for cause in reasons.causes] == ["due"]
    assert reasons.expected_start == (await executions(still_node))[0].due_at


async def test_handed_over_ahead_of_its_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await submit(still_node, schedule="in 10m")
    await later(clock, worker, 10 * MINUTE - SECOND / 10)
    await run_due(still_node)
    reasons = await why(still_node)
    assert (reasons.status, reasons.causes[0].kind) == ("pending", "due")
    assert reasons.summary.startswith("Worker box-1 has it and starts it in 100ms")


async def test_retry(still_node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    await submit(still_node, retry=RetryRequest(initial="1m", jitter=0))
    await run_due(still_node)
    (run,) = await worker.runs()
    await worker.fail(run, Failure("Oops", "no"))
    reasons = await why(still_node)
    assert reasons.summary.startswith("Attempt 2 is to start in 1m")
    assert reasons.expected_start == (await executions(still_node))[0].due_at


async def test_paused_and_queue_paused(still_node: Node, worker: ScriptedWorker) -> None:
    await submit(still_node, queue="mail")
    await still_node.jobs.pause(TENANT, 1)
    await still_node.queues.pause(TENANT, "mail")
    assert [cause.kind for cause in (await why(still_node)).causes] == ["paused", "queue_paused"]
    await still_node.jobs.resume(TENANT, 1)
    assert (await only_cause(still_node)).kind == "queue_paused"
    await still_node.queues.resume(TENANT, "mail")
    assert (await why(still_node)).causes == []


async def test_overlap_names_the_execution_before_it(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await submit(still_node, schedule="every 1m", overlap="queue")
    for _ in range(2):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
    first, _ = await executions(still_node)
    cause = await only_cause(still_node)
    assert (cause.kind, cause.executions) == ("overlap", [first.id])
    assert "(running)" in cause.message


async def test_breaker_names_the_destination_and_the_next_try(clock: SettableClock, still_node: Node) -> None:
    target = HttpTarget("https://api.example.com/hook")
    worker = await ScriptedWorker.connect(still_node, [HTTP_TASK], tenant_id=None)
    await submit(still_node, task=None, http=target)
    await run_due(still_node)
    (run,) = await worker.runs()
    key = BreakerKey(TENANT, destination_of(target.url))
    down = CallResult(CallVerdict.FAILS, "Http503: out of order")
    ((_, opened),) = await still_node.breakers._store.change(
        {key: partial(count_calls, tally=tally_of([down] * 5))}, make=[key]
    )
    await worker.report(run, AttemptOutcome.HELD, reason="circuit breaker open")
    cause = await only_cause(still_node)
    assert (cause.kind, cause.name, cause.at) == ("breaker", key.destination, opened.probe_at)
    assert "failed 5 times in a row (Http503: out of order)" in cause.message


async def test_limit_of_a_key_names_who_holds_it(still_node: Node, worker: ScriptedWorker) -> None:
    for _ in range(3):
        await submit(still_node, limits=[Limit("customer-42", max_running=2)])
    await run_due(still_node)
    running = [each.id for each in await executions(still_node) if each.status == "running"]
    waiting = next(
        place for place, each in enumerate(await executions(still_node)) if each.status == "pending"
    )
    cause = await only_cause(still_node, waiting)
    assert (cause.kind, cause.name, cause.count, cause.max) == ("limit", "customer-42", 2, 2)
    assert sorted(cause.executions) == sorted(running)


async def test_limit_of_its_queue(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.queues.set(TENANT, "mail", QueueSettings(max_running=1))
    await submit(still_node, queue="mail")
    await run_due(still_node)
    await submit(still_node, queue="mail")
    cause = await only_cause(still_node)
    assert (cause.kind, cause.name, cause.count, cause.max) == ("limit", "mail", 1, 1)


async def test_rate_tells_when_its_turn_comes_and_keeps_its_word(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "mail", QueueSettings(rate="1/10s"))
    for _ in range(3):
        await submit(still_node, queue="mail")
        await clock.advance(timedelta(milliseconds=1))
    await run_due(still_node)
    assert len(await worker.runs()) == 1
    reasons = await why(still_node)
    assert [cause.kind for cause in reasons.causes] == ["rate"]
    assert "1 is ahead of it in the backlog" in reasons.summary
    started = []
    for early in (10 * SECOND, timedelta(milliseconds=1), timedelta(0)):
        await clock.set(reasons.expected_start - early)
        await worker.beat()
        await run_due(still_node)
        started.append(len(await worker.runs()))
    assert started == [1, 0, 1]


async def test_no_task_before_anybody_connects_and_after_all_have_left(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await submit(still_node, schedule="in 1h")
    assert [cause.kind for cause in (await why(still_node)).causes] == ["due"]
    await worker.leave_silently()
    await clock.advance(MINUTE)
    reasons = await why(still_node)
    assert [cause.kind for cause in reasons.causes] == ["due", "no_task"]
    await ScriptedWorker.connect(still_node, ["other"])
    assert "no live worker offers the task work" in (await why(still_node)).summary


async def test_no_worker_for_the_queue(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.connect(still_node, ["work"], name="box-1", queues=["other"])
    await submit(still_node, queue="mail")
    await run_due(still_node)
    cause = await only_cause(still_node)
    assert (cause.kind, cause.name) == ("no_worker", "mail")
    assert cause.message.endswith("box-1 serves only other")


async def test_label(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.connect(still_node, ["work"], name="box-1", labels={"region": "us"})
    await submit(still_node, requires=Requires(labels={"region": "eu"}))
    await run_due(still_node)
    cause = await only_cause(still_node)
    assert (cause.kind, cause.name) == ("label", "region=eu")
    assert cause.message.endswith("the nearest, box-1, has region=us")
    assert (await executions(still_node))[0].waiting_for == "worker"


async def test_resource_that_nobody_has_at_all_and_that_is_in_use(
    clock: SettableClock, still_node: Node
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"], name="box-1", resources={"gpu": 1})
    await submit(still_node, requires=Requires(gpu=2))
    await run_due(still_node)
    cause = await only_cause(still_node)
    assert (cause.kind, cause.name, cause.count, cause.max) == ("resource", "gpu", 2, 1)
    for _ in range(2):
        await submit(still_node, requires=Requires(gpu=1))
        await run_due(still_node)
        await clock.advance(SECOND)
    assert len(await worker.runs()) == 1
    cause = await only_cause(still_node)
    assert (cause.kind, cause.message) == ("busy", "no worker has 1 gpu free just now")


async def test_busy(clock: SettableClock, still_node: Node) -> None:
    await ScriptedWorker.connect(still_node, ["work"], name="box-1", credit=2)
    for _ in range(4):
        await submit(still_node)
        await run_due(still_node)
        await clock.advance(SECOND)
    cause = await only_cause(still_node)
    assert (cause.kind, cause.count, cause.max) == ("busy", 1, 2)
    assert "the only worker that could run it, box-1, is full: 2 executions in 2 slots" in cause.message
    assert "1 is ahead of it" in cause.message


async def test_nothing(still_node: Node, worker: ScriptedWorker) -> None:
    await submit(still_node)
    reasons = await why(still_node)
    assert (reasons.causes, reasons.expected_start) == ([], (await executions(still_node))[0].due_at)


async def test_is_asked_by_one_tenant_about_its_own(still_node: Node, worker: ScriptedWorker) -> None:
    await submit(still_node)
    (execution,) = await executions(still_node)
    with pytest.raises(NotFound):
        await still_node.reasons.of(2, *parse_execution_id(execution.id))


async def test_dependency_names_what_it_waits_for_and_the_root_that_failed(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(
        TENANT,
        [
            JobRequest(task="work", ref="a"),
            JobRequest(task="work", ref="b", depends_on=["@a"]),
            JobRequest(task="work", depends_on=["@b"]),
        ],
    )
    root, middle, last = sorted(await executions(still_node), key=lambda each: each.job_id)
    await run_due(still_node)
    at = parse_execution_id(last.id)
    (cause,) = (await still_node.reasons.of(TENANT, *at)).causes
    assert (cause.kind, cause.count, cause.executions) == ("dependency", 1, [middle.id])
    (run,) = await worker.runs()
    await worker.fail(run, Failure("Oops", "no", retry=False))
    reasons = await still_node.reasons.of(TENANT, *at)
    assert reasons.causes[0].executions == [root.id]
    assert f"it depends on execution {root.id}, which failed" in reasons.causes[0].message
    assert reasons.expected_start is None
