"""A span of another process, known by its traceparent."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import SpanContext, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_LONGEST = (
    200  # characters: version 00 has 55, and the propagator would log a warning for each that is too long
)
_w3c = TraceContextTextMapPropagator()


def remote_context(traceparent: str) -> Context:
    """The context in which that span is the current one; an empty context if the text names no span."""
    return _w3c.extract({"traceparent": traceparent[:_LONGEST]}, Context())


@contextmanager
def within_span(traceparent: str | None) -> Iterator[None]:
    """Makes that span the current one."""
    if traceparent is None:
        yield
        return
    token = attach(remote_context(traceparent))
    try:
        yield
    finally:
        detach(token)


def remote_span(traceparent: str) -> SpanContext:
    """Not valid if the text names no span."""
    return get_current_span(remote_context(traceparent)).get_span_context()
