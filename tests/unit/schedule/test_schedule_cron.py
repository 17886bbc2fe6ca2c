import pytest

from support.schedule_reading import canonical, due, problem


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("0 9 * * MON-FRI", "0 9 * * 1-5"),
        ("00 09 * * 1,2,3,4,5", "0 9 * * 1-5"),
        ("0 0 9 * * *", "0 9 * * *"),
        ("0 0 9 ? * MON-FRI", "0 9 * * 1-5"),
        ("0 9 ? * mon-fri", "0 9 * * 1-5"),
        ("0,15,30,45 * * * *", "*/15 * * * *"),
        ("5/15 * * * *", "5-50/15 * * * *"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * SAT-SUN", "0 0 * * 0,6"),
        ("0 0 1-31 * *", "0 0 * * *"),
        ("0 0 1-31 * MON", "0 0 * * *"),
        ("0 0 1 JAN-DEC *", "0 0 1 * *"),
        ("*/10 * * * * *", "*/10 * * * * *"),
        ("0 0 9 1 1 ? 2030", "0 0 9 1 1 * 2030"),
        ("0 0 L * *", "0 0 L * *"),
        ("0 0 l-3,lw,15w * *", "0 0 15W,L-3,LW * *"),
        ("0 0 * * FRI#2,5L", "0 0 * * 5L,5#2"),
        ("0 0 */2 * MON", "0 0 */2 * 1"),
        ("0 0 1 * */2", "0 0 1 * */2"),
        ("0 0 1-7 * */7", "0 0 1-7 * */7"),
        ("0 0 1-7 * */7,WED", "0 0 1-7 * */7,3"),
        ("0 0 * * SUN-SUN", "0 0 * * 0"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@Hourly", "0 * * * *"),
    ],
)
def test_expressions_that_mean_the_same_have_one_canonical_form(text: str, meaning: str) -> None:
    assert canonical(text) == {"cron": meaning, "timezone": "UTC"}
    assert canonical(meaning) == canonical(text)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("0 0 L * *", ["2026-03-31 00:00", "2026-04-30 00:00", "2026-05-31 00:00"]),
        ("0 0 L-2 2 *", ["2027-02-26 00:00", "2028-02-27 00:00", "2029-02-26 00:00"]),
        ("0 0 LW * *", ["2026-03-31 00:00", "2026-04-30 00:00", "2026-05-29 00:00"]),
        ("0 0 15W * *", ["2026-03-16 00:00", "2026-04-15 00:00", "2026-05-15 00:00"]),
        ("0 0 15W 8 *", ["2026-08-14 00:00", "2027-08-16 00:00", "2028-08-15 00:00"]),
        ("0 0 1W 8 *", ["2026-08-03 00:00", "2027-08-02 00:00", "2028-08-01 00:00"]),
        ("0 0 31W * *", ["2026-03-31 00:00", "2026-05-29 00:00", "2026-07-31 00:00"]),
        ("0 0 * * MON#2", ["2026-03-09 00:00", "2026-04-13 00:00", "2026-05-11 00:00"]),
        ("0 0 * * MON#5", ["2026-03-30 00:00", "2026-06-29 00:00", "2026-08-31 00:00"]),
        ("0 0 * * 5L", ["2026-03-27 00:00", "2026-04-24 00:00", "2026-05-29 00:00"]),
        ("0 0 13 * FRI", ["2026-03-06 00:00", "2026-03-13 00:00", "2026-03-20 00:00"]),
        ("0 0 */2 * FRI", ["2026-03-13 00:00", "2026-03-27 00:00", "2026-04-03 00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00", "2032-02-29 00:00", "2036-02-29 00:00"]),
        ("30 59 23 31 12 *", ["2026-12-31 23:59:30", "2027-12-31 23:59:30", "2028-12-31 23:59:30"]),
        ("0 0 9 1 1 ? 2030,2040", ["2030-01-01 09:00", "2040-01-01 09:00"]),
    ],
)
def test_special_days_are_found(text: str, times: list[str]) -> None:
    assert due(text) == times


def test_a_zone_may_stand_before_the_expression() -> None:
    assert canonical("CRON_TZ=Asia/Tokyo 0 9 * * *") == {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"}
    assert canonical("TZ=UTC @daily", "UTC") == {"cron": "0 0 * * *", "timezone": "UTC"}
    assert problem("TZ=Asia/Tokyo 0 9 * * *", "Europe/Paris").message == "timezone is given twice"


def test_h_spreads_jobs_evenly_and_always_the_same_way() -> None:
    minutes = {canonical("H * * * *", seed=f"job {number}")["cron"] for number in range(1000)}
    assert len(minutes) == 60
    assert canonical("H H * * *", seed="a") == canonical("H H * * *", seed="a")
    assert canonical("H H * * *", seed="a") != canonical("H H * * *", seed="b")


@pytest.mark.parametrize("seed", ["", "a", "b", "c", "d"])
def test_h_stays_in_its_range(seed: str) -> None:
    assert 0 <= int(canonical("H(0-9) 0 * * *", seed=seed)["cron"].split()[0]) <= 9
    assert 1 <= int(canonical("0 0 H * *", seed=seed)["cron"].split()[2]) <= 28
    gaps = due(canonical("H/20 * * * *", seed=seed), count=4)
    assert len({minute[-2:] for minute in gaps}) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0 30 2 *", "never due"),
        ("0 0 31 4,6,9,11 *", "never due"),
        ("0 0 0 1 1 ? 1969", "year: 1969 is not between 1970 and 2099"),
        ("0 0 0 1 1 ? 2020", "all of its times have passed"),
        ("60 * * * *", "minute: 60 is not between 0 and 59"),
        ("* 24 * * *", "hour: 24 is not between 0 and 23"),
        ("* * 0 * *", "day of month: 0 is not between 1 and 31"),
        ("* * * 13 *", "month: 13 is not between 1 and 12"),
        ("* * * * 8", "day of week: 8 is not between 0 and 7"),
        ("* * * * MOON", "day of week: 'MOON' is not a number from 0 to 7 or a name such as SUN"),
        ("*/0 * * * *", "minute: the step '0' is not between 1 and 59"),
        ("*/90 * * * *", "minute: the step '90' is not between 1 and 59"),
        ("* 22-2 * * *", "hour: the range '22-2' runs backwards"),
        ("* * * * L", "day of week: L needs a day"),
        ("* * * * MON#6", "which weekday of the month: 6 is not between 1 and 5"),
        ("* * LX * *", "day of month: 'LX' is not L, LW or L-3"),
        ("H(9 * * * *", "minute: 'H(9' is not H, H(low-high) or H/step"),
        ("* * * *", "a cron expression has 5 fields, or 6 with seconds first; this has 4"),
        ("@reboot", "'@reboot' is not a schedule"),
        ("1,,2 * * * *", "minute: '' is not a number from 0 to 59"),
        ("\u0661 * * * *", "did not understand"),
    ],
)
def test_a_wrong_expression_is_told_what_is_wrong(text: str, message: str) -> None:
    found = problem(text)
    assert found.path == "schedule"
    assert message in found.message


def test_a_step_longer_than_the_field_is_told_how_to_write_the_period() -> None:
    assert problem("*/90 * * * *").hint == 'for longer periods write "every 90 minutes"'


def test_a_backward_range_is_told_how_to_wrap() -> None:
    assert problem("0 22-2 * * *").hint == 'write "22-23,0-2"'


def test_due_times_are_asked_for_from_any_instant_with_a_fraction() -> None:
    assert due("* * * * *", after="2026-03-04T10:30:59.999999+00:00", count=1) == ["2026-03-04 10:31"]
    assert due("* * * * *", after="2026-03-04T10:31:00+00:00", count=1) == ["2026-03-04 10:32"]
    assert due("* * * * *", after="2026-03-04T11:30:59+01:00", count=1) == ["2026-03-04 10:31"]


def test_there_is_no_due_time_before_1970_or_after_2099() -> None:
    assert due("0 0 * * *", after="1900-01-01T00:00:00+00:00", count=1) == ["1970-01-03 00:00"]
    assert due("0 0 * * *", after="2099-12-30T00:00:00+00:00") == ["2099-12-31 00:00"]
    assert due("0 0 * * *", after="9999-12-31T00:00:00+00:00") == []
    assert due("every 1m", after="9999-12-31T00:00:00+00:00") == []
