"""The span of an attempt: current in the task's code, ended with its outcome, and gone for the next attempt."""

import asyncio
from typing import Any

import msgspec
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, Tracer

from support.callback_address import callback_of
from support.loopback_target import respond, target
from support.worker_server import run_of, working
from tickwork import App, Context, Snooze
from tickwork.execute.runners.http.http_runner import HttpRunner
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.model.current_span_and_job_origin import current_traceparent, trace_id_in
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import HTTP_TASK
from tickwork.model.task import direct_task
from tickwork.model.worker_protocol import Claim, Outcome, Revoke, Run

HANDOVER = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


class Recorded:
    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer: Tracer = provider.get_tracer("test")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def app() -> App:
    app = App()

    @app.task(name="coroutine")
    async def coroutine() -> str | None:
        return current_traceparent()

    @app.task(name="thread")
    def thread() -> str | None:
        return current_traceparent()

    @app.task(name="log")
    async def log(*, ctx: Context) -> None:
        ctx.log.info("here")

    @app.task(name="fail")
    async def fail(how: str) -> None:
        raise Snooze(5) if how == "snooze" else LookupError(how)

    @app.task(name="forever")
    async def forever(*, ctx: Context) -> None:
        ctx.log.info("began")
        await asyncio.Event().wait()

    return app


def traced(task: str, payload: str = "{}", **more: Any) -> Run:
    return msgspec.structs.replace(run_of(task, payload, **more), traceparent=HANDOVER)


def ids_of(span: ReadableSpan) -> tuple[str, str, str | None]:
    context, parent = span.get_span_context(), span.parent
    return f"{context.trace_id:032x}", f"{context.span_id:016x}", f"{parent.span_id:016x}" if parent else None


@pytest.mark.parametrize("task", ["coroutine", "thread"])
async def test_the_span_of_the_attempt_is_current_in_the_code_and_gone_for_the_next(
    recorded: Recorded, task: str
) -> None:
    async with working(app(), tracer=recorded.tracer, slots=1) as bench:
        server = await bench.connected()
        await server.run(traced(task, job=1), run_of(task, job=2))
        results = {each.job: msgspec.json.decode(each.result or b"null") for each in await server.outcomes(2)}
    (span,) = recorded.spans
    trace, own, parent = ids_of(span)
    assert results == {1: f"00-{trace}-{own}-01", 2: None}
    assert (trace, parent) == (trace_id_in(HANDOVER), HANDOVER.split("-")[2])
    assert (span.name, span.kind) == (f"attempt {task}", SpanKind.CONSUMER)
    assert span.attributes["tickwork.outcome"] == "completed"
    assert span.status.status_code is StatusCode.UNSET


async def run_one(recorded: Recorded, run: Run) -> tuple[ReadableSpan, Outcome]:
    async with working(app(), tracer=recorded.tracer) as bench:
        server = await bench.connected()
        await server.run(run)
        outcome = await server.outcome()
    (span,) = recorded.spans
    return span, outcome


async def test_a_failure_is_an_error_with_its_exception(recorded: Recorded) -> None:
    span, _ = await run_one(recorded, traced("fail", '{"how": "no such row"}'))
    assert (span.status.status_code, span.status.description) == (
        StatusCode.ERROR,
        "LookupError: no such row",
    )
    assert (span.attributes["tickwork.outcome"], span.attributes["error.type"]) == ("failed", "LookupError")
    (event,) = span.events
    assert (event.name, event.attributes["exception.message"]) == ("exception", "no such row")
    assert "in fail" in str(event.attributes["exception.stacktrace"])


async def test_a_payload_that_does_not_fit_is_an_error_too(recorded: Recorded) -> None:
    span, _ = await run_one(recorded, traced("fail", '{"what": 1}'))
    assert span.attributes["error.type"] == "BadPayload"


async def test_an_unknown_task_is_an_error_too(recorded: Recorded) -> None:
    span, _ = await run_one(recorded, traced("unheard of"))
    assert span.attributes["error.type"] == "UnknownTask"


async def test_a_snooze_is_no_error(recorded: Recorded) -> None:
    span, outcome = await run_one(recorded, traced("fail", '{"how": "snooze"}'))
    assert outcome.kind == "snoozed"
    assert (span.attributes["tickwork.outcome"], span.status.status_code) == ("snoozed", StatusCode.UNSET)


async def test_a_revoked_attempt_ends_its_span_as_cancelled(recorded: Recorded) -> None:
    run = traced("forever")
    async with working(app(), tracer=recorded.tracer) as bench:
        server = await bench.connected()
        await server.run(run)
        await server.notes.get()
        await server.send(Revoke([Claim(run.tenant, run.at, run.job, run.attempt)], "not wanted"))
        await server.outcome()
    (span,) = recorded.spans
    assert span.attributes["tickwork.outcome"] == "cancelled"


async def test_a_timed_out_attempt_ends_its_span_as_failed(recorded: Recorded) -> None:
    span, _ = await run_one(recorded, traced("forever", timeout=0.05))
    assert (span.attributes["tickwork.outcome"], span.attributes["error.type"]) == ("failed", "Timeout")


async def test_lines_in_the_log_of_an_attempt_do_not_repeat_its_trace(recorded: Recorded) -> None:
    async with working(app(), tracer=recorded.tracer) as bench:
        server = await bench.connected()
        await server.run(traced("log"))
        await server.outcome()
        notes = await server.notes.get()
    assert [line.text for note in notes.items for line in note.lines] == ["here"]


async def no_secrets(_: int) -> list[str]:
    return []


@pytest.mark.parametrize("tracing", [False, True])
async def test_an_http_target_gets_the_span_of_the_attempt_or_one_that_tells_whether_to_record(
    recorded: Recorded, tracing: bool
) -> None:
    runner = HttpRunner(
        AddressPolicy.of([], loopback=True), no_secrets, callback_of=callback_of, tracing=tracing
    )
    async with target(respond()) as served:
        call = msgspec.json.encode(HttpTarget(served.url()))
        runs = [
            msgspec.structs.replace(run, target=call) for run in (traced(HTTP_TASK), run_of(HTTP_TASK, job=2))
        ]
        async with working([direct_task(HTTP_TASK, runner)], tracer=recorded.tracer) as bench:
            server = await bench.connected()
            for run in runs:
                await server.run(run)
                await server.outcome()
        await runner.close()
    (span,) = recorded.spans
    first, second = (request.headers["traceparent"] for request in served.requests)
    trace, own, _ = ids_of(span)
    assert first == f"00-{trace}-{own}-01"
    assert second.endswith("-00" if tracing else "-01")
    assert span.kind is SpanKind.CLIENT
    assert span.attributes["http.response.status_code"] == 200
    assert span.attributes["server.address"] == "127.0.0.1"
