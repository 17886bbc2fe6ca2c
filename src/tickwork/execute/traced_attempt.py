"""Runs an attempt in a span of its own, which is the current span in the task's code."""

from collections.abc import Mapping
from functools import partial

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, get_current_span, use_span

from tickwork.execute.attempt_ending import Ending, ending_of_error, unchanged
from tickwork.execute.attempt_state import Attempt, Handler
from tickwork.model.errors import one_line
from tickwork.model.execution import AttemptOutcome
from tickwork.model.task import BUILT_IN_TASKS
from tickwork.model.worker_protocol import Failure
from tickwork.tracing.span_from_traceparent import remote_context


def traced(handler: Handler, tracer: Tracer) -> Handler:
    """For an attempt with a traceparent."""
    return Handler(partial(_run, handler, tracer), unchanged)


async def _run(handler: Handler, tracer: Tracer, attempt: Attempt) -> Ending:
    """The span ends with the code, also when the attempt was given up before."""
    run = attempt.run
    span = tracer.start_span(
        f"attempt {run.task}",
        remote_context(run.traceparent or ""),
        SpanKind.CLIENT if run.task in BUILT_IN_TASKS else SpanKind.CONSUMER,
        _attributes(attempt),
    )
    with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            ending = handler.conclude(await handler.begin(attempt))
        except BaseException as error:
            _describe(span, attempt.stopped_as or ending_of_error(error))
            raise
        _describe(span, attempt.stopped_as or ending)
        return ending


def describe_in_span(attributes: Mapping[str, str | int]) -> None:
    """Add to the span of the attempt that runs, if it has one."""
    span = get_current_span()
    if span.is_recording():
        span.set_attributes(attributes)


def _attributes(attempt: Attempt) -> dict[str, str | int]:
    return {
        "messaging.system": "tickwork",
        "messaging.operation.name": "attempt",
        "messaging.message.id": attempt.execution_id,
        "tickwork.attempt": attempt.run.attempt,
    }


def _describe(span: Span, ending: Ending) -> None:
    span.set_attribute("tickwork.outcome", ending.kind.value)
    if ending.failure and ending.kind is AttemptOutcome.FAILED:
        _describe_failure(span, ending.failure)


def _describe_failure(span: Span, failure: Failure) -> None:
    span.set_attribute("error.type", failure.type)
    span.set_status(Status(StatusCode.ERROR, one_line(failure.type, failure.message)))
    event = {"exception.type": failure.type, "exception.message": failure.message}
    span.add_event("exception", event | {"exception.stacktrace": failure.traceback or ""})
