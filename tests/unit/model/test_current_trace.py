"""The current span in headers and log lines, and what it costs where nobody uses OpenTelemetry."""

import subprocess
import sys

from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanContext, TraceFlags, use_span

from tickwork.model.current_span_and_job_origin import add_span_ids, current_traceparent, trace_id_in

SPAN = NonRecordingSpan(
    SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
)
TRACEPARENT = "00-00000000000000000000000000000abc-0000000000000def-01"


def test_a_header_names_the_current_span() -> None:
    with use_span(SPAN):
        assert current_traceparent() == TRACEPARENT
    assert trace_id_in(TRACEPARENT) == f"{0xABC:032x}"


def test_there_is_no_header_without_a_valid_span() -> None:
    assert current_traceparent() is None
    with use_span(INVALID_SPAN):
        assert current_traceparent() is None


def test_log_lines_name_the_current_span_and_nothing_without_one() -> None:
    assert add_span_ids(None, "info", {"event": "a"}) == {"event": "a"}
    with use_span(SPAN):
        line = add_span_ids(None, "info", {"event": "a"})
    assert line == {"event": "a", "trace_id": f"{0xABC:032x}", "span_id": f"{0xDEF:016x}"}


def test_clients_and_commands_do_not_import_opentelemetry() -> None:
    program = "import sys, tickwork, tickwork.cli, tickwork.client.sync_client, tickwork.log_setup; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "tickwork.log_setup" in loaded
    assert not [name for name in loaded if name.startswith("opentelemetry")]
