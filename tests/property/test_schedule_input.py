"""Whatever is given as a schedule is understood or refused, with little work and little memory."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.call_count import MOST_CALLS, calls
from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.schedule.parse import parse_schedule, parse_with_notes, timing_from_text
from tickwork.schedule.preview import preview

NOW = datetime(2026, 3, 4, 10, 30, tzinfo=UTC)
BEGINNING, LATE = datetime(1970, 1, 1, tzinfo=UTC), datetime(2095, 1, 1, tzinfo=UTC)


HARD = [
    "0 0 30 2 *",
    "0 0 29 2 *",
    "0 0 */2 2 MON#5",
    "0 0 L-30 2 *",
    "0 0 0 1 1 ? 2099",
    "DTSTART:20160101T000000Z RRULE:FREQ=MINUTELY",
    "DTSTART:20160101T000000Z RRULE:FREQ=SECONDLY;BYYEARDAY=366;BYDAY=MO",
    "DTSTART:20260101T000000Z RRULE:FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;COUNT=1000",
    "DTSTART:20260101T000000Z RRULE:FREQ=WEEKLY;INTERVAL=2;BYSETPOS=-1;BYDAY=MO,FR;COUNT=1000",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;INTERVAL=1000",
    "FREQ=DAILY;INTERVAL=1000;BYDAY=MO",
    "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6;BYDAY=MO",
    "FREQ=YEARLY;BYSETPOS=366;BYDAY=MO",
    "FREQ=WEEKLY;BYSETPOS=7;BYDAY=MO,TU",
    "FREQ=HOURLY;INTERVAL=25;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=SECONDLY;INTERVAL=999999;BYMONTHDAY=31;BYMONTH=1",
    "every 7 minutes between 0:00 and 23:59",
    {"cron": "0 9 * * SAT", "exclude": {"weekends": True}},
    {"every": "1s", "exclude": {"weekends": True}},
    {"any": [f"{minute} 0 30 2 *" for minute in range(32)]},
    {"any": [f"{minute} 0 29 2 *" for minute in range(32)]},
    "1," * 120 + "1 * * * *",
    "every monday " * 19,
    "and " * 60,
    "," * 250,
    "1h" * 120,
    "every " * 42,
    "first " * 42,
    "every first and " * 16,
    "except " * 36,
    "every day except mon, " * 11,
    "twenty-" * 36,
    "p" + "1y" * 120,
    "every p1" + "0" * 240,
    "9am-" * 60,
    "mon.." * 50,
    "*-*-" * 60,
    "*" * 256,
    "*:" + "0/1," * 60,
    "cron(" * 50,
    "rate(" + "9" * 240 + ")",
    "(" * 256,
    "\u200b" * 256,
    "\u0665" * 256,
    "\U0001f435" * 256,
    "a/" * 120,
    "0 5 * * 1 " + "x" * 240,
    "FREQ=DAILY;BYHOUR=" + "1," * 1000 + "1",
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("schedule", HARD, ids=lambda schedule: str(schedule)[:60])
def test_the_hardest_questions_are_answered_with_little_work(
    schedule: str | dict[str, Any], zone: str
) -> None:
    def ask() -> None:
        try:
            understood = parse_with_notes(schedule, zone, now=NOW).schedule
        except Invalid:
            return
        assert isinstance(understood, Recurring)
        for after in (NOW, BEGINNING, LATE):
            understood.timing.next_after(after)

    parse_with_notes("@daily", zone, now=NOW)  # the zone itself is read once
    calls(ask, 3 * MOST_CALLS)


WORDS = (  # noqa: SIM905 (easier to read)
    "every each other at on in of the and , once twice times a half quarter past except except for "
    "morning night nightly monthly quarterly fortnight biweekly workdays business mon-fri mon..fri 9am-5pm *-*-* "
    "*:0/15 09:00 rate(5 minutes) cron(0 10 ? * 2 *) PST est 12/24/2026 twenty five thirty a.m. synchronized "
    "to through - "
    "between from to until except starting weekday weekend "
    "weekdays day week month quarter year hour minute second 5 15 90 0 1st 2nd 31st first last monday fri "
    "june december 2026 2026-12-24 9 9am 17:00 noon midnight tomorrow next now holidays FR Europe/Paris * "
    "*/5 H L MON#2 ? 1-5 @daily FREQ=DAILY RRULE:FREQ=WEEKLY;BYDAY=MO DTSTART:20260101T000000Z R5/ /PT1H "
    "PT1H 10m - : ; ="
).split()
sentences = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40) | sentences,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
NAMES = "at in cron every rrule text fields any timezone start end max_runs jitter exclude dst".split()  # noqa: SIM905 (easier to read)
objects = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=8), values, max_size=5)


@settings(max_examples=1500, deadline=None)
@given(st.text(max_size=300) | sentences | objects, st.none() | st.sampled_from(["UTC", "Europe/Paris", "x"]))
def test_anything_is_understood_or_refused(schedule: str | dict[str, Any], zone: str | None) -> None:
    try:
        understood = parse_schedule(schedule, zone, now=NOW)
    except Invalid:
        return
    if isinstance(understood, Recurring):
        due = understood.timing.next_after(NOW)
        assert due is not None
        assert due > NOW
        assert timing_from_text(understood.text).canonical == understood.timing.canonical
        assert parse_schedule(understood.timing.canonical, None, now=NOW) == understood
        assert understood.timing.words
        assert preview(schedule, zone, now=NOW).times[0].at == due


def test_deep_and_long_objects_are_refused() -> None:
    deep: dict[str, Any] = {"any": ["@daily"]}
    for _ in range(500):
        deep = {"any": [deep]}
    for schedule in (deep, {"fields": {"hour": ["9"] * 10_000}}, {"every": "5m", "x" * 20_000: 1}):
        with pytest.raises(Invalid):
            parse_schedule(schedule, None, now=NOW)
