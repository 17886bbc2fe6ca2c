"""Our calendar rules against python-dateutil, where the two can be compared: in UTC, near the start."""

from datetime import UTC, datetime, timedelta
from itertools import islice

from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import Recurring, Timing
from tickwork.schedule.cron.read_expression import Cron, read_cron
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.parse import parse_schedule
from tickwork.schedule.rrule.read_rule import read_rule
from tickwork.schedule.rrule.to_cron_or_period import simplify_rule

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
YEARS_COMPARED = timedelta(days=6 * 366)
STARTS = st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)).map(lambda at: at.replace(microsecond=0))  # noqa: DTZ001


def some(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high).filter(lambda number: number != 0 or low == 0)
    return st.lists(numbers, min_size=1, max_size=4, unique=True).map(lambda found: ",".join(map(str, found)))


def weekdays(numbered: bool) -> st.SearchStrategy[str]:
    # dateutil reads a mix of plain and numbered weekdays as "both", RFC 5545 as "either".
    nth = st.tuples(st.sampled_from([-2, -1, 1, 2, 4, 5]), st.sampled_from(WEEKDAYS)).map(
        lambda two: f"{two[0]}{two[1]}"
    )
    return st.lists(nth if numbered else st.sampled_from(WEEKDAYS), min_size=1, max_size=4, unique=True).map(
        ",".join
    )


@st.composite
def daily_or_longer(draw: st.DrawFn) -> str:
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]))
    parts = {"FREQ": frequency, "INTERVAL": str(draw(st.integers(1, 5)))}
    choices = {
        "BYMONTH": some(1, 12),
        "BYHOUR": some(0, 23),
        "BYMINUTE": some(0, 59),
        "BYDAY": weekdays(False),
    }
    if frequency in ("YEARLY", "MONTHLY"):
        choices |= {"BYMONTHDAY": some(-31, 31), "BYDAY": weekdays(draw(st.booleans()))}
    if frequency == "YEARLY":
        choices |= {"BYYEARDAY": some(-366, 366)}
    if frequency in ("WEEKLY", "YEARLY"):
        choices |= {"WKST": st.sampled_from(WEEKDAYS)}
    for key, values in choices.items():
        if draw(st.integers(0, 3)) == 0:
            parts[key] = draw(values)
    # For BYSETPOS, dateutil counts the first week from DTSTART instead of from its beginning.
    if frequency in ("YEARLY", "MONTHLY") and draw(st.integers(0, 3)) == 0:
        parts |= {"BYSETPOS": draw(some(-4, 4)), "BYHOUR": str(draw(st.integers(0, 23))), "BYMINUTE": "0"}
    return ";".join(f"{key}={value}" for key, value in parts.items())


@st.composite
def within_the_day(draw: st.DrawFn) -> str:
    choices = [("HOURLY", (1, 2, 3, 6, 8)), ("MINUTELY", (1, 5, 15, 20)), ("SECONDLY", (10, 30))]
    choices = [("HOURLY", (1, 2, 3, 6, 8)), ("MINUTELY", (1, 5, 15, 20)), ("SECONDLY", (10, 30))]
    frequency, even = draw(st.sampled_from(choices))
    parts = {"FREQ": frequency, "INTERVAL": str(draw(st.sampled_from(even)))}
    for key, values in {"BYHOUR": some(0, 23), "BYMINUTE": some(0, 59), "BYDAY": weekdays(False)}.items():
        if draw(st.booleans()):
            parts[key] = draw(values)
    return ";".join(f"{key}={value}" for key, value in parts.items())


def expected(rule: str, start: datetime, count: int) -> list[datetime]:
    until = (start + YEARS_COMPARED).strftime("%Y%m%dT%H%M%S")
    found = rrulestr(f"{rule};UNTIL={until}", dtstart=start)
    return [at.replace(tzinfo=UTC) for at in islice(found, count)]


def actual(timing: Timing, start: datetime, count: int) -> list[datetime]:
    found: list[datetime] = []
    due = timing.next_after(start.replace(tzinfo=UTC) - timedelta(seconds=1))
    end = start.replace(tzinfo=UTC) + YEARS_COMPARED
    while due is not None and due <= end and len(found) < count:
        found.append(due)
        due = timing.next_after(due)
    return found


def read(rule: str, start: datetime) -> Timing | None:
    text = f"DTSTART:{start:%Y%m%dT%H%M%S}Z\nRRULE:{rule}"
    try:
        understood = parse_schedule(text, None, now=start.replace(tzinfo=UTC) - timedelta(seconds=1))
    except Invalid as invalid:
        if "never" in str(invalid):
            return None
        raise
    assert isinstance(understood, Recurring)
    return understood.timing


def compare(rule: str, start: datetime) -> None:
    timing = read(rule, start)
    found = actual(timing, start, 20) if timing else []
    wanted = expected(rule, start, 20)
    assert found == wanted, f"{rule} from {start}"


@settings(max_examples=300, deadline=None)
@given(daily_or_longer(), STARTS)
def test_rules_of_days_and_longer_are_due_as_dateutil_says(rule: str, start: datetime) -> None:
    compare(rule, start)


@settings(max_examples=100, deadline=None)
@given(some(1, 53), some(-53, -1), st.sampled_from(["MO,WE", "SU", "MO,TU,WE,TH,FR,SA,SU"]))
def test_weeks_are_numbered_as_iso_8601_does(weeks: str, from_end: str, days: str) -> None:
    """dateutil loses some weeks at the turn of the year."""
    rule = f"FREQ=YEARLY;BYWEEKNO={weeks},{from_end};BYDAY={days}"
    numbers, names = {*map(int, weeks.split(",")), *map(int, from_end.split(","))}, days.split(",")
    start = datetime(2015, 1, 1, tzinfo=UTC)
    walked = (start + timedelta(days=number) for number in range(6 * 365))
    wanted = [day for day in walked if WEEKDAYS[day.weekday()] in names and week_numbers(day) & numbers]
    timing = read(rule, start.replace(tzinfo=None))
    assert actual(timing, start, len(wanted) + 1)[: len(wanted)] == wanted if timing else not wanted


def week_numbers(day: datetime) -> set[int]:
    """From the start and from the end of the year the week belongs to."""
    year, week, _ = day.isocalendar()
    return {week, week - datetime(year, 12, 28, tzinfo=UTC).isocalendar().week - 1}


@settings(max_examples=200, deadline=None)
@given(within_the_day(), STARTS)
def test_rules_within_the_day_are_due_as_dateutil_says(rule: str, start: datetime) -> None:
    assume(read(rule, start) is not None)
    compare(rule, start)


@settings(max_examples=100, deadline=None)
@given(daily_or_longer(), STARTS, st.integers(1, 30))
def test_count_ends_a_rule_as_dateutil_says(rule: str, start: datetime, count: int) -> None:
    wanted = expected(rule, start, count)
    assume(len(wanted) == count)
    timing = read(f"{rule};COUNT={count}", start)
    assert timing is not None
    assert actual(timing, start, count + 5) == wanted


@settings(max_examples=200, deadline=None)
@given(daily_or_longer(), STARTS)
def test_the_canonical_form_of_a_rule_is_understood_as_itself(rule: str, start: datetime) -> None:
    timing = read(rule, start)
    if timing:
        again = parse_schedule(timing.canonical, None, now=start.replace(tzinfo=UTC) - timedelta(seconds=1))
        assert isinstance(again, Recurring)
        assert again.timing.canonical == timing.canonical


@settings(max_examples=300, deadline=None)
@given(daily_or_longer(), STARTS)
def test_a_rule_in_its_simplest_form_names_the_same_days_and_times(rule: str, start: datetime) -> None:
    """What is written as cron, or as a rule with all of its parts said, loses nothing."""
    try:
        read, _ = read_rule(rule, start)
    except ScheduleError:
        return
    simple = simplify_rule(read)
    assert not isinstance(simple, int)
    written = read_cron(simple.text) if isinstance(simple, Cron) else read_rule(simple.text, start)[0]
    assert written.times == read.times
    for year in range(start.year, start.year + 5):
        for month in range(1, 13):
            assert written.days.month(year, month) == read.days.month(year, month), (
                f"{rule} in {month}/{year}"
            )
            looked_at = read.days.months_of(year) >> month & 1
            assert looked_at or not read.days.month(year, month)
