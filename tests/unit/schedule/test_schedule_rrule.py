import pytest

from support.schedule_reading import canonical, due, problem


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("RRULE:FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9;BYMINUTE=30", {"cron": "30 9 * * 1,3"}),
        ("FREQ=DAILY", {"cron": "0 0 * * *"}),
        ("FREQ=WEEKLY", {"cron": "0 0 * * 1"}),
        ("FREQ=MONTHLY", {"cron": "0 0 1 * *"}),
        ("FREQ=YEARLY", {"cron": "0 0 1 1 *"}),
        ("FREQ=MONTHLY;BYMONTHDAY=-1,-3", {"cron": "0 0 L,L-2 * *"}),
        ("FREQ=MONTHLY;BYDAY=2TU,-1FR", {"cron": "0 0 * * 5L,2#2"}),
        ("FREQ=MONTHLY;INTERVAL=3", {"cron": "0 0 1 */3 *"}),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", {"cron": "0 0 LW * *"}),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1", {"cron": "0 0 1W * *"}),
        ("FREQ=YEARLY;BYDAY=20MO", {"rrule": "FREQ=YEARLY;BYDAY=20MO;BYHOUR=0;BYMINUTE=0"}),
        ("FREQ=HOURLY;BYMINUTE=0,30", {"cron": "*/30 * * * *"}),
        ("FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10", {"cron": "*/15 9,10 * * *"}),
        (
            "freq=weekly;interval=2;byday=fr,mo",
            {"rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;BYHOUR=0;BYMINUTE=0"},
        ),
        (
            "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
            {"rrule": "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR;BYHOUR=0;BYMINUTE=0"},
        ),
        ("FREQ=HOURLY;INTERVAL=7;BYDAY=MO", {"rrule": "FREQ=HOURLY;INTERVAL=7;BYDAY=MO"}),
    ],
)
def test_a_rule_is_shown_in_its_simplest_form(text: str, form: dict[str, str]) -> None:
    assert canonical(text) == {**form, "timezone": "UTC"}


def test_a_period_of_more_than_ten_years_is_refused() -> None:
    assert problem("FREQ=HOURLY;INTERVAL=1000000").message == "a duration is between 0 and 10 years"


def test_a_rule_of_hours_without_filters_is_a_period() -> None:
    assert canonical("FREQ=HOURLY;INTERVAL=7", "Europe/Paris") == {"every": 25_200}


def test_dtstart_until_and_exdate_become_options() -> None:
    text = """DTSTART;TZID=America/New_York:20260401T090000
RRULE:FREQ=WEEKLY;UNTIL=20260501
EXDATE;TZID=America/New_York:20260415T090000
EXDATE;VALUE=DATE:20260422"""
    assert canonical(text) == {
        "cron": "0 9 * * 3",
        "start": "2026-04-01T13:00:00Z",
        "end": "2026-05-02T03:59:59Z",
        "exclude": {"dates": ["2026-04-15T13:00:00Z", "2026-04-22"]},
        "timezone": "America/New_York",
    }
    assert due(text, count=9) == ["2026-04-01 13:00", "2026-04-08 13:00", "2026-04-29 13:00"]


def test_count_counts_from_dtstart() -> None:
    text = "DTSTART:20260301T090000Z RRULE:FREQ=DAILY;COUNT=5"
    assert canonical(text)["end"] == "2026-03-05T09:00:00Z"
    assert due(text) == ["2026-03-05 09:00"]


def test_count_counts_what_exdate_leaves_out() -> None:
    text = "DTSTART:20260310T090000Z RRULE:FREQ=DAILY;COUNT=3 EXDATE:20260311T090000Z"
    assert due(text, count=9) == ["2026-03-10 09:00", "2026-03-12 09:00"]


def test_a_start_beside_the_rule_is_its_dtstart() -> None:
    schedule = {"rrule": "FREQ=DAILY;INTERVAL=2", "start": "2026-03-05T09:30:00Z"}
    assert due(schedule, count=2) == ["2026-03-05 09:30", "2026-03-07 09:30"]
    assert canonical({**schedule, "rrule": "FREQ=DAILY;COUNT=1"})["end"] == "2026-03-05T09:30:00Z"
    assert (
        problem({**schedule, "rrule": "DTSTART:20260101T000000Z RRULE:FREQ=DAILY"}).path == "schedule.start"
    )


def test_the_day_a_rule_is_written_plays_no_part() -> None:
    """Else a schedule declared in code would change with every restart."""
    assert due("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", after="2026-03-01T00:00:00+00:00") == due(
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", after="2026-03-12T00:00:00+00:00"
    )


def test_positions_are_counted_in_whole_periods() -> None:
    text = "DTSTART:20260304T090000Z RRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=MO,WE,FR;BYSETPOS=-1"
    assert due(text, count=2) == ["2026-03-06 09:00", "2026-03-13 09:00"]
    assert due("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", count=2) == [
        "2026-03-31 00:00",
        "2026-04-30 00:00",
    ]
    assert due("FREQ=YEARLY;BYDAY=MO;BYSETPOS=1,-1", count=2) == ["2026-12-28 00:00", "2027-01-04 00:00"]


def test_a_rule_that_began_long_ago_goes_on() -> None:
    assert due("DTSTART:19970902T090000Z RRULE:FREQ=MINUTELY;INTERVAL=7", count=1) == ["2026-03-04 10:33"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DTSTART:20260101", "the RRULE is missing"),
        ("RRULE:", "did not understand 'RRULE:'"),
        ("RRULE:FREQ=SOMETIMES", "FREQ=SOMETIMES is not a frequency"),
        ("RRULE:BYDAY=MO", "FREQ= is not a frequency"),
        ("FREQ=DAILY;FOO=1", "'FOO=1' is not a known part"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0 is not a number from 1"),
        ("FREQ=DAILY;INTERVAL=2;INTERVAL=3", "INTERVAL is given twice"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "COUNT and UNTIL exclude each other"),
        ("FREQ=DAILY;COUNT=2", "COUNT needs a DTSTART"),
        ("DTSTART:20260101 FREQ=DAILY;COUNT=1001", "COUNT is a number from 1 to 1000"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR=24 is not a number from 0 to 23"),
        ("FREQ=DAILY;BYMONTHDAY=0", "BYMONTHDAY=0 is not a number from -31 to 31 except 0"),
        ("FREQ=WEEKLY;BYDAY=XX", "BYDAY=XX is not a weekday"),
        ("FREQ=WEEKLY;BYDAY=2MO", "BYDAY=2MO with a number needs FREQ=MONTHLY or YEARLY"),
        ("FREQ=WEEKLY;WKST=XX", "WKST=XX is not a weekday"),
        ("FREQ=MONTHLY;BYWEEKNO=5", "BYWEEKNO needs FREQ=YEARLY"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS cannot be combined with FREQ=DAILY"),
        ("FREQ=MONTHLY;BYSETPOS=1;BYHOUR=1,2", "BYSETPOS needs exactly one time a day"),
        ("FREQ=MINUTELY;INTERVAL=7;BYHOUR=9", "INTERVAL=7 does not go evenly"),
        ("FREQ=HOURLY;INTERVAL=2;BYHOUR=9", "INTERVAL never meets BYHOUR"),
        ("FREQ=MONTHLY;INTERVAL=6;BYMONTH=2", "INTERVAL never meets BYMONTH"),
        ("FREQ=MONTHLY;BYMONTHDAY=30;BYMONTH=2", "never due"),
        ("DTSTART:20261301 FREQ=DAILY", "'20261301' is not a time"),
        ("FREQ=DAILY;UNTIL=99991231", "the year 9999 is out of range"),
        ("DTSTART;TZID=Mars:20260101 FREQ=DAILY", "there is no time zone 'Mars'"),
        ("DTSTART;X=1:20260101 FREQ=DAILY", "did not understand 'X=1'"),
        ("RRULE:FREQ=DAILY RRULE:FREQ=WEEKLY", "one RRULE at a time"),
        ("RRULE:FREQ=DAILY RDATE:20260101", "did not understand 'RDATE:20260101'"),
    ],
)
def test_a_wrong_rule_is_told_what_is_wrong(text: str, message: str) -> None:
    found = problem({"rrule": text})
    assert found.path == "schedule.rrule"
    assert message in found.message
