"""Spans of traces: the one that is current in this process, and the one that a job was defined in.

Only code that imported OpenTelemetry can have made a span current. Its modules are looked up, not imported: importing
them would make every command start later.
"""

import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tickwork.model.parsed_schedule_and_preview import Once, Schedule

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext


SPAN_FIELDS = ("trace_id", "span_id")  # what log lines call them


def current_span_context() -> "SpanContext | None":
    trace = sys.modules.get("opentelemetry.trace")
    context: SpanContext | None = trace.get_current_span().get_span_context() if trace else None
    return context if context and context.is_valid else None


def current_traceparent() -> str | None:
    """The header that makes a request part of the current span."""
    context = current_span_context()
    return traceparent_of(context) if context else None


def traceparent_of(context: "SpanContext") -> str:
    """As in W3C Trace Context, version 00."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def trace_id_in(traceparent: str) -> str:
    return traceparent.split("-")[1]


def add_span_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: lines that are written while a span is current say which one."""
    context = current_span_context()
    if context:
        ids = (f"{context.trace_id:032x}", f"{context.span_id:016x}")
        event.update(zip(SPAN_FIELDS, ids, strict=True))
    return event


class TraceOrigin(NamedTuple):
    """The span of the request that defined a job, which is stored with the job if it was sampled.

    A one-time job that is due at once continues the trace of the request: the span is the parent of what happens. Any
    other job runs later, perhaps for years: each of its executions has a trace of its own, which links to the span.
    """

    relation: Literal["parent", "link"]
    traceparent: str

    def text(self) -> str:
        return f"{self.relation} {self.traceparent}"


def origin_of(schedule: Schedule, traceparent: str) -> TraceOrigin:
    due_at_once = isinstance(schedule, Once) and schedule.at is None
    return TraceOrigin("parent" if due_at_once else "link", traceparent)


def read_origin(text: str) -> TraceOrigin:
    relation, _, traceparent = text.partition(" ")
    return TraceOrigin("parent" if relation == "parent" else "link", traceparent)
