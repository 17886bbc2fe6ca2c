"""What becomes of due times on the days when clocks are changed."""

from itertools import pairwise

import pytest

from support.schedule_reading import canonical, due, problem

NEW_YORK, PARIS, LORD_HOWE, SANTIAGO, APIA = (
    "America/New_York",
    "Europe/Paris",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Pacific/Apia",
)


def test_a_fixed_time_that_is_skipped_runs_once_when_the_clocks_jump() -> None:
    # 2026-03-08: 02:00 EST is 03:00 EDT, at 07:00 UTC.
    assert due("30 2 * * *", NEW_YORK, after="2026-03-07T12:00:00+00:00", count=2) == [
        "2026-03-08 07:00",
        "2026-03-09 06:30",
    ]


def test_asked_for_what_follows_the_last_second_before_the_jump_a_skipped_time_is_found() -> None:
    for text in ("30 2 * * *", "55 1,2 * * *"):
        assert due(text, NEW_YORK, after="2026-03-08T06:59:59+00:00", count=1) == ["2026-03-08 07:00"]
    assert due("30 3 * * *", NEW_YORK, after="2026-03-08T06:59:59+00:00", count=1) == ["2026-03-08 07:30"]


def test_several_skipped_times_run_once_together() -> None:
    assert due("0,20,40 2,3 * * *", NEW_YORK, after="2026-03-08T06:00:00+00:00", count=3) == [
        "2026-03-08 07:00",
        "2026-03-08 07:20",
        "2026-03-08 07:40",
    ]


def test_a_fixed_time_that_is_shown_twice_runs_once() -> None:
    # 2026-11-01: 01:30 EDT is 05:30 UTC, 01:30 EST is 06:30 UTC.
    assert due("30 1 * * *", NEW_YORK, after="2026-10-31T12:00:00+00:00", count=2) == [
        "2026-11-01 05:30",
        "2026-11-02 06:30",
    ]


def test_asked_during_the_second_pass_a_fixed_time_does_not_run_again() -> None:
    assert due("30 1 * * *", NEW_YORK, after="2026-11-01T06:10:00+00:00", count=1) == ["2026-11-02 06:30"]


@pytest.mark.parametrize("text", ["0 * * * *", "*/30 * * * *", "*/20 * * * *"])
@pytest.mark.parametrize("day", ["2026-03-08", "2026-11-01"])
def test_times_with_a_star_run_every_real_interval(text: str, day: str) -> None:
    found = due(text, NEW_YORK, after=f"{day}T03:59:59+00:00", count=100)
    minutes = [int(at[8:10]) * 1440 + int(at[11:13]) * 60 + int(at[14:]) for at in found]
    assert len({later - earlier for earlier, later in pairwise(minutes)}) == 1


def test_a_shift_of_half_an_hour_is_followed() -> None:
    # 2026-04-05: 02:00 becomes 01:30, at 15:00 UTC.
    assert due("*/20 * * * *", LORD_HOWE, after="2026-04-04T14:00:00+00:00", count=6) == [
        "2026-04-04 14:20",
        "2026-04-04 14:40",
        "2026-04-04 15:10",
        "2026-04-04 15:30",
        "2026-04-04 15:50",
        "2026-04-04 16:10",
    ]


def test_a_gap_at_midnight_does_not_stop_the_schedule() -> None:
    # 2026-09-06 begins at 01:00.
    assert due("0 0 * * *", SANTIAGO, after="2026-09-05T12:00:00+00:00", count=2) == [
        "2026-09-06 04:00",
        "2026-09-07 03:00",
    ]
    assert due("*/20 1 * * SUN", SANTIAGO, after="2026-09-05T12:00:00+00:00", count=2) == [
        "2026-09-06 04:00",
        "2026-09-06 04:20",
    ]


def test_a_day_left_out_of_the_calendar_runs_at_the_start_of_the_next() -> None:
    # Samoa went from 29 to 31 December 2011.
    assert due("0 9 * * *", APIA, after="2011-12-29T20:00:00+00:00", count=3) == [
        "2011-12-30 10:00",
        "2011-12-30 19:00",
        "2011-12-31 19:00",
    ]


@pytest.mark.parametrize(
    ("dst", "spring", "autumn"),
    [
        ({"gap": "next", "repeat": "once"}, 1, 1),
        ({"gap": "skip"}, 0, 1),
        ({"repeat": "twice"}, 1, 2),
        ({"gap": "skip", "repeat": "twice"}, 0, 2),
    ],
)
def test_both_can_be_chosen(dst: dict[str, str], spring: int, autumn: int) -> None:
    schedule = {"cron": "30 2 * * *", "dst": dst}
    days = [at[:10] for at in due(schedule, PARIS, after="2026-03-01T00:00:00+00:00", count=300)]
    assert days.count("2026-03-29") == spring
    assert days.count("2026-10-25") == autumn


def test_a_rare_time_is_repeated_too() -> None:
    schedule = {"cron": "30 1 1 11 *", "dst": {"repeat": "twice"}}
    assert due(schedule, NEW_YORK, after="2026-10-01T00:00:00+00:00") == [
        "2026-11-01 05:30",
        "2026-11-01 06:30",
        "2027-11-01 05:30",
    ]


def test_choices_that_make_no_difference_are_not_part_of_the_canonical_form() -> None:
    plain = canonical("0 9 * * *", PARIS)
    assert canonical({"cron": "0 9 * * *", "dst": {"gap": "skip"}}, PARIS) == plain
    assert canonical({"cron": "30 2 * * *", "dst": {"gap": "skip"}}, "UTC") == canonical("30 2 * * *")
    assert canonical({"cron": "30 2 * * *", "dst": {"gap": "next"}}, PARIS) == canonical("30 2 * * *", PARIS)
    assert canonical({"cron": "30 2 * * *", "dst": {"gap": "skip"}}, PARIS)["dst"] == {
        "gap": "skip",
        "repeat": "once",
    }


def test_a_period_in_real_time_takes_no_choice() -> None:
    assert problem({"every": "5m", "dst": {"gap": "skip"}}).path == "schedule.dst"


def test_a_rule_within_the_day_runs_every_real_hour() -> None:
    schedule = "DTSTART;TZID=America/New_York:20261031T233000 RRULE:FREQ=HOURLY"
    assert due(schedule, after="2026-11-01T04:00:00+00:00", count=4) == [
        "2026-11-01 04:30",
        "2026-11-01 05:30",
        "2026-11-01 06:30",
        "2026-11-01 07:30",
    ]
    assert due(f"{schedule};BYDAY=SU", after="2026-11-01T04:00:00+00:00", count=4)[1:3] == [
        "2026-11-01 05:30",
        "2026-11-01 06:30",
    ]


def test_a_daily_rule_keeps_its_local_time() -> None:
    schedule = "DTSTART;TZID=America/New_York:20261031T090000 RRULE:FREQ=DAILY"
    assert due(schedule, count=2) == ["2026-10-31 13:00", "2026-11-01 14:00"]
