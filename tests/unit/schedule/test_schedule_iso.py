import pytest

from support.schedule_reading import canonical, due, problem


def test_a_number_of_repeats_is_a_number_of_due_times() -> None:
    assert canonical("R5/2026-05-01T00:00:00Z/PT1H") == {
        "every": 3600,
        "start": "2026-05-01T00:00:00Z",
        "end": "2026-05-01T04:00:00Z",
    }
    assert len(due("R5/2026-05-01T00:00:00Z/PT1H", count=9)) == 5


def test_a_period_may_be_given_by_two_instants() -> None:
    text = "R/2026-01-01T00:00:00Z/2026-01-01T06:00:00Z"
    assert canonical(text) == {"every": 21_600, "start": "2026-01-01T00:00:00Z"}


def test_days_follow_the_calendar_of_the_zone() -> None:
    assert due("R/2026-03-28T09:00/P1D", "Europe/Paris", count=2) == ["2026-03-28 08:00", "2026-03-29 07:00"]
    assert due("R3/2026-03-28T09:00/P1D", "Europe/Paris", count=9)[-1] == "2026-03-30 07:00"
    assert canonical("R/2026-03-28T09:00:00Z/P1D") == {"every": 86_400, "start": "2026-03-28T09:00:00Z"}


def test_without_a_start_days_follow_the_calendar_of_the_zone_too() -> None:
    assert canonical("R/P1D", "Europe/Paris") == {"cron": "0 0 * * *", "timezone": "Europe/Paris"}
    assert due("R/P1D", "Europe/Paris", after="2026-03-28T12:00:00+00:00", count=2) == [
        "2026-03-28 23:00",
        "2026-03-29 22:00",
    ]
    assert canonical("R/P1W") == {"cron": "0 0 * * 1", "timezone": "UTC"}
    assert canonical("R/P1M") == {"cron": "0 0 1 * *", "timezone": "UTC"}
    assert canonical("R/P1Y") == {"cron": "0 0 1 1 *", "timezone": "UTC"}
    assert canonical("R/PT24H", "Europe/Paris") == {"every": 86_400}
    two_days = {"text": "R/P2D", "start": "2026-03-06T09:00"}
    assert due(two_days, "Europe/Paris", count=2) == ["2026-03-06 08:00", "2026-03-08 08:00"]
    assert canonical(canonical(two_days, "Europe/Paris")) == canonical(two_days, "Europe/Paris")


def test_more_repeats_than_there_is_time_for_end_with_it() -> None:
    assert canonical("R999999999/2026-05-01T00:00:00Z/P1W") == {
        "every": 604_800,
        "start": "2026-05-01T00:00:00Z",
    }
    assert canonical("R1000000/2026-05-01T00:00:00Z/PT1S")["end"] == "2026-05-12T13:46:39Z"


def test_a_month_without_that_day_means_its_last_day() -> None:
    assert due("R/2026-01-31T09:00:00Z/P1M") == ["2026-03-31 09:00", "2026-04-30 09:00", "2026-05-31 09:00"]
    assert due("R/2028-02-29T09:00:00Z/P1Y", count=2) == ["2028-02-29 09:00", "2029-02-28 09:00"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R5/PT1H", "R5 needs a start to count from"),
        ("R0/2026-05-01T00:00:00Z/PT1H", "is not a repeating interval"),
        ("R5/2026-05-01T00:00:00Z", "R5 needs a start to count from"),
        ("R/2026-05-01T00:00:00Z", "is not a duration"),
        ("R/1/2/3", "is not a repeating interval"),
        ("R/2026-05-01T00:00:00Z/PT0S", "a period is a whole number of seconds, at least 1"),
        ("R/2026-05-01T00:00:00Z/2026-04-01T00:00:00Z", "a duration is between 0 and 10 years"),
        ("R5/2020-01-01T00:00:00Z/PT1H", "all of its times have passed"),
        ("R2000/2026-05-01T00:00:00Z/P1M", "at most R1000"),
    ],
)
def test_what_is_not_a_repeating_interval_is_told_why(text: str, message: str) -> None:
    assert message in problem(text).message
