"""The trace of an execution, which may go through several nodes and attempts, step by step."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from support.node_steps import later, run_due
from support.otlp_receiver import OtlpReceiver, receiving_spans
from tickwork.config import Settings
from tickwork.model.access import Requester
from tickwork.model.current_span_and_job_origin import trace_id_in
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.public_ids import execution_id, from_micros
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
MINUTE = timedelta(minutes=1)
CREATE = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
CREATE_TRACE, CREATE_SPAN = CREATE.split("-")[1:3]


@pytest.fixture
async def receiver(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OtlpReceiver]:
    async with receiving_spans() as receiver:
        for name, value in receiver.env().items():
            monkeypatch.setenv(name, value)
        yield receiver


@pytest.fixture
def settings(receiver: OtlpReceiver, database_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=database_url, data_dir=tmp_path, tracing=True)


def id_of(run: Run) -> str:
    return execution_id(run.job, from_micros(run.at))


async def names_to(receiver: OtlpReceiver, run: Run) -> list[str]:
    """The spans that lead to the one that handed this over, whose traceparent the worker got."""
    _, trace, span, flags = run.traceparent.split("-")
    handover = await receiver.span(
        "hand over work", tickwork__attempt=run.attempt, messaging__message__id=id_of(run)
    )
    assert (handover.trace_id, handover.span_id, flags) == (trace, span, "01")
    return [each.name for each in await receiver.chain_to(handover, caller=CREATE_SPAN)]


async def test_nodes_agree_on_the_trace_of_an_execution_that_one_fires_and_another_hands_over(
    clock: SettableClock, nodes: list[Node], receiver: OtlpReceiver
) -> None:
    await ScriptedWorker.offer_only(nodes[0], ["work"])
    await nodes[0].jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    await clock.advance(MINUTE)
    await nodes[0].step("fire")
    worker = await ScriptedWorker.connect(nodes[1], ["work"])
    (run,) = await worker.runs()
    assert await names_to(receiver, run) == ["fire work", "hand over work"]


async def test_all_attempts_at_an_execution_are_in_one_trace(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, receiver: OtlpReceiver
) -> None:
    retry = RetryRequest(initial="1s", jitter=0)
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", retry=retry)])
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    (first,) = await worker.runs()
    await worker.fail(first, Failure("Broken", "once"))
    await later(clock, worker, timedelta(seconds=2))
    await run_due(still_node)
    (second,) = await worker.runs()
    assert second.attempt > first.attempt
    for run in (first, second):
        assert await names_to(receiver, run) == ["fire work", "hand over work"]
    assert trace_id_in(first.traceparent) == trace_id_in(second.traceparent)


async def test_the_first_hand_over_is_the_root_when_no_rule_fired_the_execution(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, receiver: OtlpReceiver
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="0 0 1 1 *")])
    await still_node.runs.run(TENANT, 1)
    await still_node.step("claim")
    (first,) = await worker.runs()
    await worker.report(first, AttemptOutcome.SNOOZED, snooze=1.0)
    await later(clock, worker, timedelta(seconds=2))
    await still_node.step("claim")
    (second,) = await worker.runs()
    assert await names_to(receiver, first) == ["hand over work"]
    assert await names_to(receiver, second) == ["hand over work", "hand over work"]


async def test_a_job_that_is_due_at_once_continues_the_trace_that_created_it(
    still_node: Node, worker: ScriptedWorker, receiver: OtlpReceiver
) -> None:
    await still_node.jobs.create_one(TENANT, JobRequest(task="work"), Requester(traceparent=CREATE))
    await still_node.step("claim")
    (run,) = await worker.runs()
    assert trace_id_in(run.traceparent) == CREATE_TRACE
    handover = await receiver.span("hand over work")
    assert (handover.parent_id, handover.links) == (CREATE_SPAN, [])


async def test_a_job_that_is_due_later_has_a_trace_that_links_to_the_one_that_created_it(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, receiver: OtlpReceiver
) -> None:
    await still_node.jobs.create_one(
        TENANT, JobRequest(task="work", schedule="in 1h"), Requester(traceparent=CREATE)
    )
    await later(clock, worker, timedelta(hours=1))
    await still_node.step("claim")
    (run,) = await worker.runs()
    assert trace_id_in(run.traceparent) != CREATE_TRACE
    handover = await receiver.span("hand over work")
    assert (handover.parent_id, handover.links) == ("", [(CREATE_TRACE, CREATE_SPAN)])


async def test_an_edit_replaces_the_trace_that_a_job_links_to(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.create_one(
        TENANT, JobRequest(task="work", schedule="every 1h"), Requester(traceparent=CREATE)
    )
    edit = CREATE.replace(CREATE_SPAN, "fedcba9876543210")
    await still_node.jobs.patch(TENANT, 1, {"priority": "high"}, requester=Requester(traceparent=edit))
    assert await connection.fetchval("SELECT trace_origin FROM tickwork.job") == f"link {edit}"


async def test_a_skipped_execution_is_a_trace_that_says_why(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, receiver: OtlpReceiver
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m", overlap="skip")])
    for _ in range(2):
        await later(clock, worker, MINUTE)
        await run_due(still_node)
    assert (await receiver.span("fire work", tickwork__skipped="overlap")).parent_id == ""


async def test_only_the_wanted_share_is_sampled_and_only_that_is_sent_to_workers(
    clock: SettableClock, settings: Settings, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.05")
    node = Node(settings)
    await node.open()
    try:
        worker = await ScriptedWorker.connect(node, ["work"])
        await node.jobs.create_many(TENANT, [JobRequest(task="work", schedule="every 1m")] * 400)
        await later(clock, worker, MINUTE)
        await run_due(node)
        runs = await worker.runs()
    finally:
        await node.stop()
    traced = [run for run in runs if run.traceparent]
    assert len(runs) == 400
    assert len(traced) in range(18, 23)
    for name in ("fire work", "hand over work"):
        spans = [span for span in receiver.spans if span.name == name]
        assert {span.attributes["messaging.message.id"] for span in spans} == {id_of(run) for run in traced}


async def test_a_worker_that_comes_back_gets_what_it_missed_in_the_same_trace(
    still_node: Node, worker: ScriptedWorker, receiver: OtlpReceiver
) -> None:
    await still_node.jobs.create_one(TENANT, JobRequest(task="work"), Requester(traceparent=CREATE))
    await still_node.step("claim")
    back = await worker.come_back(holding=[])
    (run,) = await back.runs()
    assert trace_id_in(run.traceparent) == CREATE_TRACE
