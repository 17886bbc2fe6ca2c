from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from support.call_count import calls
from support.schedule_reading import NOW
from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import Preview
from tickwork.schedule.preview import preview


def test_shows_the_times_by_the_clocks_of_the_schedule_and_of_the_viewer() -> None:
    found = preview("0 9 * * MON", "Europe/Paris", now=NOW, count=2, viewer_timezone="America/New_York")
    assert found.canonical == {"cron": "0 9 * * 1", "timezone": "Europe/Paris"}
    assert found.words == "every Monday at 09:00 (Europe/Paris)"
    assert [time.at for time in found.times] == [
        datetime(2026, 3, 9, 8, tzinfo=UTC),
        datetime(2026, 3, 16, 8, tzinfo=UTC),
    ]
    assert [time.local for time in found.times] == ["Mon 2026-03-09 09:00 CET", "Mon 2026-03-16 09:00 CET"]
    assert [time.viewer for time in found.times] == ["Mon 2026-03-09 04:00 EDT", "Mon 2026-03-16 04:00 EDT"]
    assert found.warnings == []


def test_is_plain_json() -> None:
    data = msgspec.json.encode(preview("every 5m", None, now=NOW, count=1))
    assert msgspec.json.decode(data) == {
        "canonical": {"every": 300},
        "words": "every 5 minutes",
        "times": [
            {"at": "2026-03-04T10:35:00Z", "local": "Wed 2026-03-04 10:35 UTC", "note": None, "viewer": None}
        ],
        "warnings": [],
    }
    assert msgspec.json.decode(data, type=Preview).times[0].note is None


def test_begins_after_the_asked_instant_and_ends_with_the_runs() -> None:
    later = datetime(2027, 1, 1, tzinfo=UTC)
    assert preview("@yearly", None, now=NOW, after=later).times[0].at == datetime(2028, 1, 1, tzinfo=UTC)
    assert len(preview({"every": "5m", "max_runs": 2}, None, now=NOW).times) == 2


@pytest.mark.parametrize("zone", ["Europe/Paris", "America/Santiago", "Asia/Tokyo", "UTC"])
def test_ends_where_time_ends(zone: str) -> None:
    last = datetime(2099, 12, 30, 12, tzinfo=UTC)
    found: list[Preview] = []
    calls(lambda: found.append(preview("30 2 * * *", zone, now=NOW, after=last)))
    assert 1 <= len(found[0].times) <= 2
    assert found[0].times[-1].at.year == 2099
    assert preview("0 9 31 12 *", zone, now=NOW, after=datetime(2099, 12, 31, 23, tzinfo=UTC)).times == []


@pytest.mark.parametrize("year", [1, 1900, 1970, 2100, 9999])
def test_refuses_to_begin_where_there_is_no_time(year: int) -> None:
    for offset in (-12, 0, 14):
        after = datetime(year, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=offset)))
        with pytest.raises(Invalid) as caught:
            preview("@daily", None, now=NOW, after=after)
        (error,) = caught.value.errors
        assert error.path == "after"
        assert error.hint == "use a year from 1971 to 2099"


def test_tells_which_days_are_the_weekend_where_they_are_others() -> None:
    schedule = {"cron": "0 9 * * *", "exclude": {"weekends": True, "holidays": ["SA"]}}
    assert preview(schedule, None, now=NOW, count=1).warnings == [
        "the weekend is Friday and Saturday, as in SA"
    ]
    schedule = {"cron": "0 9 * * *", "exclude": {"weekends": True, "holidays": ["FR"]}}
    assert preview(schedule, None, now=NOW, count=1).warnings == []


def test_marks_the_times_around_clock_changes() -> None:
    spring = preview(
        "30 2 * * *", "Europe/Paris", now=NOW, after=datetime(2026, 3, 28, 12, tzinfo=UTC), count=2
    )
    assert [time.note for time in spring.times] == ["the clocks jump from 02:00 to 03:00", None]
    twice = {"cron": "30 2 * * *", "dst": {"repeat": "twice"}}
    autumn = preview(twice, "Europe/Paris", now=NOW, after=datetime(2026, 10, 24, 12, tzinfo=UTC), count=3)
    assert [time.note for time in autumn.times] == [
        "the clocks show 02:30 twice, this is the first time",
        "the clocks show 02:30 for the second time",
        None,
    ]


def test_warns_of_the_clock_changes_a_schedule_notices() -> None:
    assert preview("30 2 * * *", "Europe/Paris", now=NOW).warnings == [
        "2026-03-29: the clocks jump from 02:00 to 03:00; times between run at 03:00",
        "2026-10-25: the clocks go back from 03:00 to 02:00; times between run once",
        "2027-03-28: the clocks jump from 02:00 to 03:00; times between run at 03:00",
    ]
    skipping = {"cron": "30 2 * * *", "dst": {"gap": "skip", "repeat": "twice"}}
    assert preview(skipping, "Europe/Paris", now=NOW).warnings[:2] == [
        "2026-03-29: the clocks jump from 02:00 to 03:00; times between do not run",
        "2026-10-25: the clocks go back from 03:00 to 02:00; times between run twice",
    ]
    for unaffected in ("0 9 * * *", "*/15 * * * *", "every 5m"):
        assert preview(unaffected, "Europe/Paris", now=NOW).warnings == []


@pytest.mark.parametrize(
    ("schedule", "warning"),
    [
        ("0 0 30 2 *", "this is never due: no such time exists"),
        ("R2/2020-01-01T00:00:00Z/PT1H", "this is never due: all of its times have passed"),
        ("* * * * * *", "this runs every second"),
        ("every 10s", "this runs every 10 seconds"),
        ("0 0 1 * MON", "a day of the month and a day of the week are given: this runs on either"),
        ("0 0 31 * *", "months without a 31st are left out; write L for the last day of a month"),
        ("0 0 29 2 *", "29 February comes every fourth year"),
        (
            "0 0 1-7 * */7",
            "one of the two kinds of day begins with a star: this runs on days that match both",
        ),
    ],
)
def test_warns_of_what_may_surprise(schedule: str, warning: str) -> None:
    found = preview(schedule, None, now=NOW).warnings
    assert found[:1] == [warning]
    assert all("this runs every" in other for other in found[1:])


@pytest.mark.parametrize(
    "schedule",
    [
        "59 23 31 12 *",
        "0 0 30 4,6,9 *",
        "0 0 12 ? * MON-FRI",
        "0 0 12 ? * 1-7",
        "0 0 12 * * *",
        "0 0 12 * * ?",
        "0 0 9 ? * MON#2",
        "0 9 * * 1-5",
        "0 9 * * */7",
        "*/15 * * * * *",
        {"any": ["0 9 * * MON", "every 5m"]},
        {"fields": {"hour": 9, "days_of_week": [2]}},
    ],
)
def test_does_not_warn_of_what_everybody_reads_alike(schedule: Any) -> None:
    assert preview(schedule, None, now=NOW).warnings == []


def test_warns_of_weekday_numbers_that_quartz_reads_differently() -> None:
    (warning,) = preview("0 0 12 ? * 2-6", None, now=NOW).warnings
    assert "so this is every Tuesday, Wednesday, Thursday, Friday and Saturday at 12:00" in warning
    assert "Quartz numbers them from 1 and means every weekday at 12:00" in warning
    (warning,) = preview("0 0 9 ? * 6#3 2030", None, now=NOW).warnings
    assert "means on the third Friday of every month in 2030 at 09:00" in warning


def test_warns_of_seconds_that_others_have_last() -> None:
    warning = preview("*/5 * * * * 0", None, now=NOW).warnings[0]
    assert warning.startswith("seconds come first, so this is every 5 seconds on Sundays;")
    assert warning.endswith("programs that have them last mean every 5 minutes")


def test_warns_of_other_readings_wherever_the_expression_stands() -> None:
    for schedule in (
        {"cron": "TZ=UTC 0 0 12 ? * 2-6"},
        {"text": "0 0 12 ? * 2-6"},
        {"any": ["every monday at 9", {"cron": "0 12 ? * 2-6"}]},
    ):
        assert "Quartz numbers them from 1" in preview(schedule, None, now=NOW).warnings[0]


def test_warns_of_the_holidays_left_out() -> None:
    schedule = {
        "cron": "0 9 * * *",
        "exclude": {"holidays": ["FR"], "dates": ["2026-12-24"], "weekends": True},
    }
    found = preview(schedule, None, now=NOW, after=datetime(2026, 12, 22, 12, tzinfo=UTC), count=3)
    assert [time.local[:14] for time in found.times] == ["Wed 2026-12-23", "Mon 2026-12-28", "Tue 2026-12-29"]
    assert found.warnings == [
        "does not run on 2026-12-24: it is excluded",
        "does not run on 2026-12-25: Christmas Day (FR)",
    ]


def test_shows_one_instant() -> None:
    found = preview("tomorrow at 9 in Asia/Tokyo", None, now=NOW)
    assert found.canonical == {"at": "2026-03-05T00:00:00Z"}
    assert found.words == "once, Thu 2026-03-05 09:00 (Asia/Tokyo)"
    assert [time.local for time in found.times] == ["Thu 2026-03-05 09:00 JST"]
    assert preview(None, None, now=NOW).words == "now"


def test_names_every_wrong_field() -> None:
    with pytest.raises(Invalid) as caught:
        preview("gibberish", "Mars", now=NOW, count=0, viewer_timezone="Venus")
    assert [error.path for error in caught.value.errors] == [
        "viewer_timezone",
        "count",
        "timezone",
        "schedule",
    ]
