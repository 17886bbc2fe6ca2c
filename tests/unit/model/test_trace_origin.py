"""How a job is related to the span of the request that defined it."""

from datetime import UTC, datetime

import pytest

from tickwork.model.current_span_and_job_origin import origin_of, read_origin
from tickwork.model.parsed_schedule_and_preview import Once, Schedule
from tickwork.schedule.parse import parse_schedule

SPAN = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "relation"),
    [
        (Once(None, ""), "parent"),
        (Once(NOW, ""), "link"),
        (parse_schedule("every 1m", None, now=NOW, seed=""), "link"),
    ],
)
def test_only_what_is_due_at_once_continues_the_trace(schedule: Schedule, relation: str) -> None:
    origin = origin_of(schedule, SPAN)
    assert (origin.relation, origin.traceparent) == (relation, SPAN)
    assert read_origin(origin.text()) == origin
