import pytest

from support.schedule_reading import NOW, once, problem, problems
from tickwork.model.parsed_schedule_and_preview import Once
from tickwork.schedule.parse import parse_schedule


def test_no_schedule_means_now() -> None:
    assert parse_schedule(None, None, now=NOW) == Once(None, "now")
    assert problem(None, "Mars/Olympus").path == "timezone"


@pytest.mark.parametrize(
    ("schedule", "at"),
    [
        ("2026-05-01T09:00:00Z", "2026-05-01T09:00:00Z"),
        ("2026-05-01T09:00:00+02:00", "2026-05-01T07:00:00Z"),
        ("2026-05-01 09:00", "2026-05-01T07:00:00Z"),
        ("2026-05-01T09:00:00.25Z", "2026-05-01T09:00:00.250000Z"),
        ("20260501T090000Z", "2026-05-01T09:00:00Z"),
        ("2026-05-01", "2026-04-30T22:00:00Z"),
        ({"at": "2026-05-01T09:00"}, "2026-05-01T07:00:00Z"),
        ({"in": "10m"}, "2026-03-04T10:40:00Z"),
        ({"in": 90}, "2026-03-04T10:31:30Z"),
        ("in 1h30m", "2026-03-04T12:00:00Z"),
        ("in 2 days", "2026-03-06T10:30:00Z"),
        ("in 1 hour and 30 minutes", "2026-03-04T12:00:00Z"),
        ("now", "2026-03-04T10:30:00Z"),
        ("tomorrow at 9", "2026-03-05T08:00:00Z"),
        ("at 9am tomorrow", "2026-03-05T08:00:00Z"),
        ("today at 23:30", "2026-03-04T22:30:00Z"),
        ("next friday at 17:00", "2026-03-06T16:00:00Z"),
        ("next wednesday at noon", "2026-03-11T11:00:00Z"),
        ("24 december 2026 at 6pm", "2026-12-24T17:00:00Z"),
        ("on december 24, 2026 at 18:00", "2026-12-24T17:00:00Z"),
        ("2026-12-24 at 6pm", "2026-12-24T17:00:00Z"),
        ("tomorrow at 9 in Asia/Tokyo", "2026-03-05T00:00:00Z"),
    ],
)
def test_one_instant_is_said_in_many_ways(schedule: str | dict[str, object], at: str) -> None:
    zone = None if isinstance(schedule, str) and "Tokyo" in schedule else "Europe/Paris"
    assert once(schedule, zone) == at


def test_the_past_is_due_at_once() -> None:
    assert once("2020-01-01T00:00:00Z") == "2020-01-01T00:00:00Z"


def test_a_local_time_that_is_skipped_is_the_moment_the_clocks_jump() -> None:
    assert once("2026-03-29 02:30", "Europe/Paris") == "2026-03-29T01:00:00Z"


def test_a_local_time_that_is_shown_twice_is_the_first() -> None:
    assert once("2026-10-25 02:30", "Europe/Paris") == "2026-10-25T00:30:00Z"


@pytest.mark.parametrize(
    ("schedule", "path", "message"),
    [
        ("2026-02-30", "schedule", "'2026-02-30' is not a date and time"),
        ({"at": 5}, "schedule.at", "'5' is not a date and time"),
        ({"at": "1969-01-01T00:00:00Z"}, "schedule.at", "the year 1969 is out of range"),
        ({"at": "9999-12-31T23:59:59-14:00"}, "schedule.at", "the year 9999 is out of range"),
        ({"in": "soon"}, "schedule.in", "'soon' is not a duration"),
        ({"in": "-5m"}, "schedule.in", "'-5m' is not a duration"),
        ("today at 9", "schedule", "2026-03-04 at 09:00 has passed"),
        ("tomorrow", "schedule", "at and a time of day is missing"),
        ("tomorrow at", "schedule", "a time of day is missing"),
        ("tomorrow at dawn", "schedule", "did not understand 'dawn'"),
        ("tomorrow at 9 sharp", "schedule", "did not understand 'sharp'"),
        ("next month at 9", "schedule", "did not understand 'month'"),
        ("31 june 2026 at 9", "schedule", "2026-06-31 is not a date"),
        ("in 2 months", "schedule", "months and years differ in length"),
        ("in 4000 days", "schedule", "a delay is at most 10 years"),
        ("in a while", "schedule", "did not understand 'a'"),
    ],
)
def test_what_is_not_an_instant_is_told_why(
    schedule: str | dict[str, object], path: str, message: str
) -> None:
    found = problem(schedule)
    assert found.path == path
    assert message in found.message


def test_options_of_repeated_schedules_do_not_go_with_one_instant() -> None:
    found = problems(
        {"at": "2026-05-01T09:00:00Z", "max_runs": 3, "jitter": "1m", "exclude": {"weekends": True}}
    )
    assert [error.path for error in found] == ["schedule.max_runs", "schedule.jitter", "schedule.exclude"]
