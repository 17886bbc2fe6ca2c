"""The deadline of an execution: the next time of day in the zone of its job, or a time after its due time."""

from datetime import UTC, datetime, timedelta

import pytest

from tickwork.model.deadline import deadline_from_text, parse_deadline


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "zone", "due", "deadline"),
    [
        ("06:00", "UTC", "2026-03-01 03:00", "2026-03-01 06:00"),
        ("06:00", "UTC", "2026-03-01 06:00", "2026-03-02 06:00"),
        ("06:00", "Europe/Paris", "2026-03-01 03:00", "2026-03-01 05:00"),
        ("06:00", "Europe/Paris", "2026-03-01 05:30", "2026-03-02 05:00"),
        (
            "06:00",
            "Europe/Paris",
            "2026-03-28 20:00",
            "2026-03-29 04:00",
        ),  # the clock goes forward that night
        ("00:30", "America/New_York", "2026-03-01 05:00", "2026-03-01 05:30"),
        ("2h", "Europe/Paris", "2026-03-01 03:00", "2026-03-01 05:00"),
        (90, "UTC", "2026-03-01 03:00", "2026-03-01 03:01:30"),
    ],
)
def test_it_is_the_next_one_after_the_due_time(
    given: str | float, zone: str, due: str, deadline: str
) -> None:
    parsed = parse_deadline(given, zone)
    assert parsed.of(at(due)) == at(deadline)
    assert deadline_from_text(parsed.text()) == parsed


def test_a_later_due_time_never_has_an_earlier_deadline() -> None:
    deadline = parse_deadline("02:30", "Europe/Paris")
    due = [at("2026-03-27 00:00") + n * timedelta(minutes=17) for n in range(500)]
    deadlines = [deadline.of(each) for each in due]
    assert deadlines == sorted(deadlines)


def test_equal_deadlines_share_a_lane() -> None:
    assert parse_deadline("90m", "UTC").text() == parse_deadline(5400, "Europe/Paris").text()
    assert parse_deadline("06:00", "UTC").text() != parse_deadline("06:00", "Europe/Paris").text()
