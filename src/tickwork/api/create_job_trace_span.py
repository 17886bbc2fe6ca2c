"""The span of a request that defines jobs, in the trace of its `traceparent` if it has one."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from tickwork.api.repeated_headers_and_request_id import RawHeaders
from tickwork.api.route import Call
from tickwork.model.current_span_and_job_origin import traceparent_of
from tickwork.model.errors import TickworkError, Unavailable
from tickwork.tracing.span_from_traceparent import remote_context

Attributes = Mapping[str, str | int]


def definition_span(
    call: Call[Any, Any], operation: str, task: str | None, attributes: Attributes | None = None
) -> AbstractContextManager[str | None]:
    """Gives the traceparent to store with the jobs: None if the span is not sampled."""
    tracer = call.node.tracer
    if tracer is None:
        return nullcontext()
    described = {
        "messaging.system": "tickwork",
        "messaging.operation.name": operation,
        **(attributes or {}),
    }
    return _span(tracer, f"{operation} {task}" if task else operation, call.headers, described)


@contextmanager
def _span(tracer: Tracer, name: str, headers: RawHeaders, attributes: Attributes) -> Iterator[str | None]:
    with tracer.start_as_current_span(
        name,
        remote_context(headers.get(b"traceparent", b"").decode("latin-1")),
        SpanKind.SERVER,
        attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        context = span.get_span_context()
        try:
            yield traceparent_of(context) if context.trace_flags.sampled else None
        except Exception as error:
            span.set_attribute("error.type", type(error).__name__)
            if not isinstance(error, TickworkError) or isinstance(error, Unavailable):
                span.set_status(Status(StatusCode.ERROR))
            raise
