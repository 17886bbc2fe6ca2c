"""The OpenTelemetry span that is current in this process, if there is one, for log lines and requests.

Only code that imported OpenTelemetry can have made a span current. Its modules are looked up, not imported: importing
them would make every command start later.
"""

import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

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
