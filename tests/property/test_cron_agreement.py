"""Our cron and cronsim, the engine that is known to be right on daylight saving, give the same times."""

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tickwork.model.parsed_schedule_and_preview import Recurring
from tickwork.schedule.cron.read_expression import read_cron
from tickwork.schedule.parse import parse_schedule, parse_with_notes

ZONES = ("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata")
STEPS = 12


def _field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    span = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(st.sampled_from(["*", f"{least}-{most}"]), st.integers(2, max(most // 2, 2))).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )
    several = st.lists(number, min_size=2, max_size=3, unique=True).map(lambda them: ",".join(map(str, them)))
    return st.one_of(st.just("*"), number.map(str), span, stepped, several)


crons = st.tuples(_field(0, 59), _field(0, 23), _field(1, 28), _field(1, 12), _field(0, 6)).map(" ".join)
moments = st.integers(978_307_200, 2_082_758_400).map(lambda second: datetime.fromtimestamp(second, UTC))


@settings(max_examples=400, deadline=None, derandomize=True)  # in rare cases it is cronsim that is wrong
@given(cron=crons, zone=st.sampled_from(ZONES), start=moments)
@example(cron="30 2 * * *", zone="America/New_York", start=datetime(2026, 3, 7, 12, tzinfo=UTC))
@example(cron="30 1 * * *", zone="America/New_York", start=datetime(2026, 10, 31, 12, tzinfo=UTC))
@example(cron="*/20 * * * *", zone="Australia/Lord_Howe", start=datetime(2026, 4, 4, 12, tzinfo=UTC))
@example(cron="0 0 * * *", zone="America/Santiago", start=datetime(2026, 9, 5, 12, tzinfo=UTC))
def test_the_same_times_as_cronsim(cron: str, zone: str, start: datetime) -> None:
    understood = parse_schedule(cron, zone, now=start)
    assert isinstance(understood, Recurring)
    timing = understood.timing
    theirs = CronSim(cron, start.replace(microsecond=0).astimezone(ZoneInfo(zone)))
    due, until = start.replace(microsecond=0), start + timedelta(days=400)
    for _ in range(STEPS):
        due = timing.next_after(due)
        expected = next(theirs).astimezone(UTC)
        assert due == expected, f"{cron} in {zone} after {start}"
        if due > until:
            break


BEGIN, END = datetime(2023, 12, 31, 12, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)
DATES = [
    *("*", "?", "*/1", "*/2", "*/7", "*/15", "*/30", "*/2,31", "*,3", "*/15,L"),
    *("1", "31", "1-7", "1-31", "1-31/2", "8-14/3", "1,15", "5/10", "13,L", "L", "LW", "1,*/9"),
]
WEEKDAYS = [
    *("*", "?", "*/1", "*/2", "*/3", "*/4", "*/5", "*/6", "*/7", "*,1", "*/7,1", "*/7,MON#2", "*/3,5L"),
    *("0", "7", "SUN", "MON", "MON-FRI", "1-7", "0-6", "5-7", "6,0", "1/2", "0/7", "1-5/2", "SUN,WED"),
    *("MON#1", "5L", "2,FRI#5"),
]


@pytest.mark.parametrize("date", DATES)
def test_every_pair_of_day_fields_means_the_same_days_as_in_cronsim(date: str) -> None:
    """A field that begins with a star asks for both to match, in every form that it can have."""
    for weekday in WEEKDAYS:
        understood = parse_with_notes(f"0 0 {date} * {weekday}", None, now=BEGIN).schedule
        assert isinstance(understood, Recurring)
        ours, due = [], understood.timing.next_after(BEGIN)
        while due is not None and due < END:
            ours.append(due)
            due = understood.timing.next_after(due)
        expression = f"0 0 {date} * {weekday}".replace("?", "*")
        assert ours == list(takewhile(lambda at: at < END, CronSim(expression, BEGIN))), expression


@pytest.mark.parametrize("date", DATES)
def test_what_is_written_is_what_was_read(date: str) -> None:
    for weekday in WEEKDAYS:
        for times in ("0 0", "*/7 1-5", "3/20 */2", "H H(0-7)"):
            cron = read_cron(f"{times} {date} */5 {weekday}", "a seed")
            assert read_cron(cron.text)[:2] == cron[:2], f"{date} {weekday} became {cron.text}"


@pytest.mark.parametrize(
    ("weekdays", "meaning"),
    [("SUN-SUN", "0"), ("0-SUN", "0"), ("7-SUN", "0"), ("SUN-MON", "0,1"), ("MON-SUN", "*")],
)
def test_a_range_that_ends_on_sunday_begins_where_it_says(weekdays: str, meaning: str) -> None:
    assert read_cron(f"0 0 * * {weekdays}").text == f"0 0 * * {meaning}"
