from datetime import UTC, datetime, timedelta

import pytest

from support.schedule_reading import NOW, canonical, due, problem, problems, timing
from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.schedule.parse import parse_with_notes


def test_start_and_end_bound_any_schedule() -> None:
    schedule = {"cron": "0 9 * * *", "start": "2026-04-01T09:00", "end": "2026-04-03"}
    assert due(schedule, "Europe/Paris", count=9) == [
        "2026-04-01 07:00",
        "2026-04-02 07:00",
        "2026-04-03 07:00",
    ]
    assert canonical(schedule, "Europe/Paris")["end"] == "2026-04-03T21:59:59Z"


def test_max_runs_and_jitter_are_kept_for_the_job() -> None:
    read = timing({"every": "5m", "max_runs": 3, "jitter": "1m30s"})
    assert read.canonical == {"every": 300, "max_runs": 3, "jitter": 90}
    assert (read.max_runs, read.jitter) == (3, timedelta(seconds=90))
    plain = timing("every 5m")
    assert (plain.max_runs, plain.jitter) == (None, timedelta(0))


def test_weekends_and_dates_are_left_out() -> None:
    schedule = {
        "cron": "0 9 * * *",
        "exclude": {"weekends": True, "dates": ["2026-03-06", "2026-03-10T09:00:00Z"]},
    }
    assert due(schedule, count=4) == [
        "2026-03-05 09:00",
        "2026-03-09 09:00",
        "2026-03-11 09:00",
        "2026-03-12 09:00",
    ]


def test_holidays_of_countries_and_regions_are_left_out() -> None:
    # Whit Monday is a holiday in Bavaria, Corpus Christi too, but not in Berlin.
    days = {"cron": "0 9 * * *", "start": "2026-05-24", "end": "2026-06-06"}
    bavaria = due({**days, "exclude": {"holidays": ["DE-BY"]}}, "Europe/Berlin", count=20)
    berlin = due({**days, "exclude": {"holidays": ["DE-BE"]}}, "Europe/Berlin", count=20)
    assert set(berlin) - set(bavaria) == {"2026-06-04 07:00"}
    assert "2026-05-25 07:00" not in berlin


def test_the_weekend_is_that_of_the_countries_whose_holidays_are_kept() -> None:
    def weekdays(*countries: str) -> set[str]:
        schedule = {"cron": "0 9 * * *", "exclude": {"weekends": True, "holidays": [*countries]}}
        return {f"{datetime.fromisoformat(at):%a}" for at in due(schedule, count=60)}

    assert weekdays() == weekdays("FR") == {"Mon", "Tue", "Wed", "Thu", "Fri"}
    assert weekdays("SA") == {"Sun", "Mon", "Tue", "Wed", "Thu"}
    assert weekdays("FR", "SA") == {"Mon", "Tue", "Wed", "Thu"}
    assert weekdays("IR") == {"Sat", "Sun", "Mon", "Tue", "Wed", "Thu"}


def test_a_weekend_that_was_moved_is_that_of_its_year() -> None:
    schedule = {
        "cron": "0 9 * * SUN",
        "exclude": {"weekends": True, "holidays": ["AE"]},
        "start": "2021-12-01",
    }
    read = parse_with_notes(schedule, None, now=NOW).schedule
    assert isinstance(read, Recurring)
    assert [f"{at:%m-%d}" for at in read.timing.due_times(NOW.replace(year=2021))] == [
        "12-05",
        "12-12",
        "12-19",
        "12-26",
    ]


def test_what_is_excluded_for_decades_is_still_found_after_them() -> None:
    sundays = {"cron": "0 0 29 2 */7", "exclude": {"dates": ["2032-02-29"]}}
    assert due(sundays, count=9) == ["2060-02-29 00:00", "2088-02-29 00:00"]
    firsts = [f"{year}-01-01" for year in range(2027, 2098)]
    assert due({"cron": "0 0 1 1 *", "exclude": {"dates": firsts}}, count=9) == [
        "2098-01-01 00:00",
        "2099-01-01 00:00",
    ]


def test_a_question_from_before_time_is_answered_from_its_beginning() -> None:
    plain, excluding = (
        timing("0 9 * * *"),
        timing({"cron": "0 9 * * *", "exclude": {"dates": ["2026-01-01"]}}),
    )
    for year in (1, 1900, 1969):
        after = datetime(year, 1, 1, tzinfo=UTC)
        assert plain.next_after(after) == excluding.next_after(after) == datetime(1970, 1, 3, 9, tzinfo=UTC)


def test_a_period_that_keeps_falling_on_excluded_days_is_never_due() -> None:
    weekly = {"every": "7d", "start": "2026-03-07T09:00:00Z", "exclude": {"weekends": True}}
    assert "never due" in problem(weekly).message
    drifting = {"every": "169h", "start": "2026-03-07T00:00:00Z", "exclude": {"weekends": True}}
    assert due(drifting, count=1) == ["2027-02-08 00:00"]


def test_a_period_skips_excluded_days_by_the_calendar_of_its_zone() -> None:
    schedule = {"every": "6h", "exclude": {"weekends": True}}
    assert canonical(schedule, "Asia/Tokyo")["timezone"] == "Asia/Tokyo"
    assert due(schedule, "Asia/Tokyo", after="2026-03-06T06:00:00+00:00", count=2) == [
        "2026-03-06 12:00",
        "2026-03-08 18:00",
    ]


def test_options_of_the_canonical_form_are_sorted_and_without_defaults() -> None:
    exclude = {"holidays": ["US", "FR", "FR"], "dates": ["2026-12-25", "2026-12-24"], "weekends": False}
    assert canonical({"cron": "0 9 * * *", "exclude": exclude})["exclude"] == {
        "dates": ["2026-12-24", "2026-12-25"],
        "holidays": ["FR", "US"],
    }
    assert canonical({"cron": "0 9 * * *", "exclude": {}}) == canonical("0 9 * * *")


def test_any_joins_schedules_that_share_options() -> None:
    schedule = {
        "any": ["0 9 * * *", {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"}, {"every": "12h"}, "0 9 * * *"],
        "end": "2026-03-05T09:00:00Z",
        "max_runs": 5,
    }
    found = canonical(schedule, "Europe/Paris")
    assert len(found["any"]) == 3
    assert found["max_runs"] == 5
    assert all(part["end"] == "2026-03-05T09:00:00Z" for part in found["any"])
    assert due(schedule, "Europe/Paris", count=9) == [
        "2026-03-04 12:00",
        "2026-03-05 00:00",
        "2026-03-05 08:00",
    ]
    assert canonical(found) == found


def test_any_of_one_is_that_one() -> None:
    assert canonical({"any": ["0 9 * * *", "@daily", "0 0 9 * * ?"][::2]}) == canonical("0 9 * * *")


@pytest.mark.parametrize(
    ("schedule", "path", "message"),
    [
        ({}, "schedule", "exactly one of at, in, cron, every, rrule, text, fields, any is needed, not none"),
        ({"cron": "0 9 * * *", "every": "5m"}, "schedule", "not cron and every"),
        ({"crn": "0 9 * * *", "every": "5m"}, "schedule.crn", "there is no such field"),
        ({"every": "5m", "timezone": "Paris"}, "schedule.timezone", "there is no time zone 'Paris'"),
        ({"every": "5m", "timezone": 5}, "schedule.timezone", "a time zone is a text"),
        ({"every": "5m", "start": "soon"}, "schedule.start", "'soon' is not a date and time"),
        ({"every": "5m", "end": 7}, "schedule.end", "'7' is not a date and time"),
        ({"every": "5m", "end": "2020-01-01"}, "schedule.every", "all of its times have passed"),
        ({"every": "5m", "max_runs": 0}, "schedule.max_runs", "max_runs is a whole number from 1"),
        ({"every": "5m", "max_runs": 10_001}, "schedule.max_runs", "a whole number from 1 to 10000"),
        ({"every": "5m", "max_runs": True}, "schedule.max_runs", "max_runs is a whole number from 1"),
        ({"every": "5m", "jitter": "2d"}, "schedule.jitter", "jitter is at most one day"),
        ({"every": "5m", "jitter": []}, "schedule.jitter", "'[]' is not a duration"),
        ({"every": "5m", "exclude": "FR"}, "schedule.exclude", "exclude is an object"),
        ({"every": "5m", "exclude": {"days": []}}, "schedule.exclude.days", "there is no such field"),
        (
            {"every": "5m", "exclude": {"weekends": 1}},
            "schedule.exclude.weekends",
            "weekends is true or false",
        ),
        ({"every": "5m", "exclude": {"dates": "2026-01-01"}}, "schedule.exclude.dates", "dates is a list"),
        (
            {"every": "5m", "exclude": {"dates": ["24.12."]}},
            "schedule.exclude.dates",
            "'24.12.' is not a date",
        ),
        ({"every": "5m", "exclude": {"holidays": ["XX"]}}, "schedule.exclude.holidays", "no public holidays"),
        ({"every": "5m", "exclude": {"holidays": [1]}}, "schedule.exclude.holidays", "no public holidays"),
        (
            {"every": "5m", "exclude": {"holidays": ["DE-XX"]}},
            "schedule.exclude.holidays",
            "DE has no region 'XX'",
        ),
        ({"cron": "0 9 * * 6", "exclude": {"weekends": True}}, "schedule.cron", "never due"),
        ({"cron": "0 9 * * 6", "dst": {"gap": "maybe"}}, "schedule.dst.gap", "'maybe' is not a choice"),
        ({"cron": "0 9 * * 6", "dst": {"gaps": "next"}}, "schedule.dst.gaps", "there is no such field"),
        ({"cron": 5}, "schedule.cron", "a text is needed here"),
        ({"any": []}, "schedule.any", "any is a list of 1 to 32 schedules"),
        ({"any": [{"at": "2026-05-01"}]}, "schedule.any[0]", "is due only once"),
        ({"any": ["@daily", "0 0 30 2 *"]}, "schedule.any[1]", "never due"),
        ({"any": [{"cron": "@daily", "max_runs": 3}]}, "schedule.any[0].max_runs", "there is no such field"),
        ({"any": [{"any": ["@daily"]}]}, "schedule.any[0].any", "there is no such field"),
        ({"any": ["DTSTART:20260101 RRULE:FREQ=DAILY;COUNT=3"] * 2}, "schedule.any[0]", "COUNT"),
        (5, "schedule", "a schedule is a text or an object"),
    ],
)
def test_wrong_options_are_named(schedule: object, path: str, message: str) -> None:
    found = problems(schedule)[0]
    assert found.path == path
    assert message in found.message


def test_what_can_be_given_can_be_given_back() -> None:
    odd = sorted({number * number % 59 for number in range(60)})
    rule = f"FREQ=DAILY;BYHOUR=0,2,3;BYMINUTE={','.join(map(str, odd))};BYSECOND={','.join(map(str, odd))}"
    found = canonical(rule)
    assert canonical(found) == found
    dates = [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
    many = {"any": [f"0 {hour} * * *" for hour in range(24)], "exclude": {"dates": dates}}
    assert (
        problem(many).message == "this is too long: written in full it has 106295 bytes; the limit is 16384"
    )


def test_every_wrong_field_is_named_at_once() -> None:
    schedule = {"cron": "99 * * * *", "start": "x", "end": "y", "max_runs": -1, "jiter": "1s"}
    assert [error.path for error in problems(schedule, "Nowhere")] == [
        "timezone",
        "schedule.jiter",
        "schedule.start",
        "schedule.end",
        "schedule.cron",
        "schedule.max_runs",
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Paris", "did you mean 'Europe/Paris'?"),
        ("New York", "did you mean 'America/New_York'?"),
        ("Europe/Pariss", "did you mean 'Europe/Paris'?"),
        ("../../etc/passwd", 'use an IANA name such as "Europe/Paris" or "UTC"'),
        ("", 'use an IANA name such as "Europe/Paris" or "UTC"'),
    ],
)
def test_an_unknown_zone_is_told_the_nearest(name: str, hint: str) -> None:
    found = problem("@daily", name)
    assert found.path == "timezone"
    assert found.hint == hint
