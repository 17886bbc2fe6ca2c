"""Traces of real servers and workers, as an OpenTelemetry collector receives them."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from support.cluster import Cluster, Program
from support.loopback_target import respond, target
from support.otlp_receiver import OtlpReceiver, receiving_spans
from support.run_command import tickwork
from support.waiting import eventually

WITHIN = 60.0
TASKS = "support.traced_tasks:app"
CALLER = SpanContext(
    0xA11CE << 64 | 0x5EED, 0xCA11, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
)
CALLER_TRACE, CALLER_SPAN = f"{CALLER.trace_id:032x}", f"{CALLER.span_id:016x}"


@pytest.fixture
async def receiver() -> AsyncIterator[OtlpReceiver]:
    async with receiving_spans() as receiver:
        yield receiver


@pytest.fixture
def programs(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(database_url, tmp_path)
    yield cluster
    cluster.clean_up()


def within_a_trace_of_the_caller() -> Any:
    return use_span(NonRecordingSpan(CALLER))


def lines(program: Program) -> Iterator[dict[str, Any]]:
    for line in program.log.splitlines():
        with suppress(json.JSONDecodeError):
            yield json.loads(line)


async def line(program: Program, event: str) -> dict[str, Any]:
    """The first one of this event, once it is there."""
    return await eventually(
        lambda: next((line for line in lines(program) if line["event"] == event), None),
        within=WITHIN,
        what=event,
    )


async def test_one_trace_leads_from_the_create_request_to_the_http_target(
    programs: Cluster, receiver: OtlpReceiver
) -> None:
    await programs.add_server(env=receiver.env())
    async with target(respond()) as served, programs.client() as client:
        with within_a_trace_of_the_caller():
            job = await client.create_job(http={"url": served.url()})
        execution = await client.wait_for_job(job.id, timeout=WITHIN)
    (request,) = served.requests
    attempt = await receiver.span("attempt http", messaging__message__id=execution.id)
    assert request.headers["traceparent"] == attempt.traceparent
    chain = await receiver.chain_to(attempt, caller=CALLER_SPAN)
    assert [(span.name, span.kind) for span in chain] == [
        ("create http", "SERVER"),
        ("hand over http", "PRODUCER"),
        ("attempt http", "CLIENT"),
    ]
    assert chain[0].parent_id == CALLER_SPAN
    assert {span.trace_id for span in chain} == {CALLER_TRACE}
    assert {span.service for span in chain} == {"tickwork-server"}
    assert attempt.attributes["http.response.status_code"] == 200
    assert attempt.attributes["tickwork.outcome"] == "completed"


async def test_what_a_task_records_belongs_to_its_attempt_in_every_kind_of_runner(
    programs: Cluster, receiver: OtlpReceiver
) -> None:
    await programs.add_server(env=receiver.env())
    worker = await programs.add_worker(tasks=TASKS, env=receiver.env())
    kinds = ("coroutine", "thread", "process")
    async with programs.client() as client:
        with within_a_trace_of_the_caller():
            jobs = [await client.create_job(task=f"in_{kind}") for kind in kinds]
        for job in jobs:
            await client.wait_for_job(job.id, timeout=WITHIN)
    for kind in kinds:
        inside = await receiver.span(f"inside {kind}")
        chain = await receiver.chain_to(inside, caller=CALLER_SPAN)
        names = [f"create in_{kind}", f"hand over in_{kind}", f"attempt in_{kind}", f"inside {kind}"]
        assert [span.name for span in chain] == names
        assert [span.service for span in chain] == ["tickwork-server"] * 2 + ["tickwork-worker"] * 2
        said = await line(worker, f"working in a {kind}")
        assert (said["trace_id"], said["span_id"]) == (CALLER_TRACE, inside.span_id)


async def test_each_execution_of_a_recurring_job_has_a_trace_that_links_to_the_create_request(
    programs: Cluster, receiver: OtlpReceiver
) -> None:
    await programs.add_server(env=receiver.env())
    await programs.add_worker(tasks=TASKS, env=receiver.env())
    async with programs.client() as client:
        with within_a_trace_of_the_caller():
            job = await client.create_job(task="in_thread", schedule="every 1s")
    create = await receiver.span("create in_thread")
    attempts = await eventually(
        lambda: (
            (found := [span for span in receiver.spans if span.name == "attempt in_thread"])[1:] and found
        ),
        within=WITHIN,
    )
    assert len({span.trace_id for span in attempts} - {CALLER_TRACE}) == len(attempts)
    for attempt in attempts:
        chain = await receiver.chain_to(attempt)
        assert [span.name for span in chain] == ["fire in_thread", "hand over in_thread", "attempt in_thread"]
        assert chain[0].links == [(CALLER_TRACE, create.span_id)]
        assert chain[0].attributes["tickwork.job.id"] == job.id


async def test_jobs_that_a_task_submits_continue_its_trace(programs: Cluster, receiver: OtlpReceiver) -> None:
    await programs.add_server(env=receiver.env())
    url = programs.urls[0]
    await programs.add_worker(tasks=TASKS, env=receiver.env(TICKWORK_URL=url))
    async with programs.client() as client:
        await client.create_job(task="submits")
    inside = await receiver.span("inside thread")
    chain = await receiver.chain_to(inside)
    assert [span.name for span in chain if span.name.startswith("attempt")] == [
        "attempt submits",
        "attempt in_thread",
    ]


async def test_the_line_of_a_failed_attempt_names_its_trace(
    programs: Cluster, receiver: OtlpReceiver
) -> None:
    await programs.add_server(env=receiver.env())
    worker = await programs.add_worker(tasks=TASKS, env=receiver.env())
    async with programs.client() as client:
        await client.create_job(task="fails", retry={"max_attempts": 1})
    attempt = await receiver.span("attempt fails")
    assert (attempt.status, attempt.attributes["error.type"], attempt.events) == (
        "ERROR",
        "LookupError",
        ["exception"],
    )
    failed = await line(worker, "attempt failed")
    assert failed["trace_id"] == attempt.trace_id


async def test_a_server_without_a_collector_works_and_stops_soon(programs: Cluster) -> None:
    env = {"TICKWORK_TRACING": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    server = await programs.add_server(env=env)
    worker = await programs.add_worker(tasks=TASKS, env=env)
    async with programs.client() as client:
        job = await client.create_job(task="in_process")
        assert (await client.wait_for_job(job.id, timeout=WITHIN)).status == "completed"
    assert await worker.stop() == 0
    assert await server.stop() == 0


def test_a_wrong_sampling_ratio_is_refused_with_the_variable_and_the_fix(tmp_path: Path) -> None:
    refused = tickwork(
        *("server", "--database-url", "postgresql://127.0.0.1:1/none"),
        TICKWORK_TRACING="true",
        OTEL_TRACES_SAMPLER="traceidratio",
        OTEL_TRACES_SAMPLER_ARG="1 %",
    )
    assert refused.returncode == 2
    assert re.search(
        r"OTEL_TRACES_SAMPLER_ARG: is a share from 0 to 1, such as 0\.01; got '1 %'", refused.stderr
    )
