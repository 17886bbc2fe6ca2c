import pytest

from support.schedule_reading import canonical, due, problem


@pytest.mark.parametrize(
    "schedule",
    [
        {"every": "5m"},
        {"every": 300},
        {"every": "PT5M"},
        "every 5m",
        "every 5 minutes",
        "@every 300s",
        "R/PT5M",
    ],
)
def test_a_period_is_written_in_many_ways(schedule: str | dict[str, object]) -> None:
    assert canonical(schedule, "Europe/Paris") == {"every": 300}


def test_periods_are_counted_from_1970_so_that_jobs_share_them() -> None:
    assert due("every 15m") == ["2026-03-04 10:45", "2026-03-04 11:00", "2026-03-04 11:15"]
    assert due("every 7h", after="1970-01-10T00:00:00+00:00", count=1) == ["1970-01-10 01:00"]


def test_a_start_is_where_the_period_is_counted_from() -> None:
    schedule = {"every": "15m", "start": "2026-03-04T10:02:00Z"}
    assert due(schedule) == ["2026-03-04 10:32", "2026-03-04 10:47", "2026-03-04 11:02"]
    assert due({"every": "1h", "start": "2026-04-01T00:30:00Z"}, count=2) == [
        "2026-04-01 00:30",
        "2026-04-01 01:30",
    ]


def test_an_end_is_the_last_that_counts() -> None:
    schedule = {"every": "15m", "end": "2026-03-04T11:00:00Z"}
    assert due(schedule) == ["2026-03-04 10:45", "2026-03-04 11:00"]


@pytest.mark.parametrize("value", ["0s", 0, "500ms", "1.5s", -5, True, None, "often", "11 years", [], {}])
def test_what_is_not_a_period_of_whole_seconds_is_refused(value: object) -> None:
    assert problem({"every": value}).path == "schedule.every"
