"""Our due times against a brute-force walk over every minute, with zoneinfo and none of our own calendar.

Some of the clock changes of 2000 to 2037 are walked, others are drawn at random. With TICKWORK_ORACLE=all
in the environment every change of every zone is walked, which takes about a quarter of an hour.
"""

import os
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise, product
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwork.model.errors import Invalid
from tickwork.model.parsed_schedule_and_preview import Recurring, Timing
from tickwork.schedule.due.calendar_bit_masks import to_seconds
from tickwork.schedule.due.time_zone import zone_named
from tickwork.schedule.parse import parse_schedule

EXHAUSTIVE = os.environ.get("TICKWORK_ORACLE") == "all"
YEARS = range(2000, 2038)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
AROUND = DAY
NOW = datetime(2000, 1, 1, tzinfo=UTC)
ZONES = files("tzdata").joinpath("zones").read_text().split()


class Shown(NamedTuple):
    """One minute of real time and what the clocks on the wall say then."""

    at: datetime
    local: datetime


class Spec(NamedTuple):
    """A schedule as text, and the same as plain questions about a time."""

    text: str
    hours: frozenset[int]
    minutes: frozenset[int]
    on_day: Callable[[date], bool]
    follows_the_clock: bool
    dst: tuple[str, str] | None = None

    def names(self, local: datetime) -> bool:
        return local.minute in self.minutes and local.hour in self.hours and self.on_day(local.date())


# --- the oracle -------------------------------------------------------------------------------------------


@cache
def zone_info(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def local_of(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


@cache
def changes(name: str, year: int) -> tuple[datetime, ...]:
    """The minutes of a year in which the clocks of a zone are changed."""
    zone, found = zone_info(name), []
    at, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    while at < end:
        if local_of(at + DAY, zone) - local_of(at, zone) != DAY:
            found.append(_first_odd_minute(at, zone))
        at += DAY
    return tuple(found)


def _first_odd_minute(at: datetime, zone: ZoneInfo) -> datetime:
    while local_of(at + MINUTE, zone) - local_of(at, zone) == MINUTE:
        at += MINUTE
    return at + MINUTE


class Walk(NamedTuple):
    minutes: list[Shown]
    skipped: list[Shown]  # local minutes that no clock shows, with the moment it jumps past them


def walk(change: datetime, zone: ZoneInfo) -> Walk:
    steps = (change - AROUND + number * MINUTE for number in range(2 * AROUND // MINUTE))
    minutes = [Shown(at, local_of(at, zone)) for at in steps]
    return Walk(minutes, [gap for pair in pairwise(minutes) for gap in _skipped(*pair)])


def _skipped(earlier: Shown, later: Shown) -> Iterator[Shown]:
    local = earlier.local + MINUTE
    while local < later.local:
        yield Shown(later.at, local)
        local += MINUTE


def due_minutes(spec: Spec, walked: Walk) -> set[datetime]:
    """When the wall clock shows a named time; and when it jumps past one."""
    gap, repeat = spec.dst or (("skip", "twice") if spec.follows_the_clock else ("next", "once"))
    shown = [minute for minute in walked.minutes if spec.names(minute.local)]
    if repeat == "once":
        shown = list({minute.local: minute for minute in reversed(shown)}.values())
    jumped = [minute for minute in walked.skipped if gap == "next" and spec.names(minute.local)]
    return {minute.at for minute in shown + jumped}


# --- our engine -------------------------------------------------------------------------------------------


def our_timing(spec: Spec, zone: str) -> Timing | None:
    schedule: dict[str, object] = {"cron": spec.text}
    if spec.dst:
        schedule["dst"] = {"gap": spec.dst[0], "repeat": spec.dst[1]}
    try:
        understood = parse_schedule(schedule, zone, now=NOW)
    except Invalid as invalid:
        if "never due" in str(invalid):
            return None
        raise
    assert isinstance(understood, Recurring)
    return understood.timing


def our_minutes(spec: Spec, zone: str, start: datetime, end: datetime) -> set[datetime]:
    timing, found = our_timing(spec, zone), set()
    due = timing.next_after(start - timedelta(seconds=1)) if timing else None
    while timing and due is not None and due < end:
        found.add(due)
        following = timing.next_after(due)
        assert following is None or following > due, f"{spec.text!r} in {zone} does not move on from {due}"
        due = following
    return found


def check(spec: Spec, zone: str, walked: Walk) -> None:
    # What was shown before the walk began is not known: clocks have not been put back by more than an hour or two.
    start, end = walked.minutes[0].at + 6 * HOUR, walked.minutes[-1].at
    expected = {at for at in due_minutes(spec, walked) if start <= at < end}
    actual = our_minutes(spec, zone, start, end)
    missing, extra = sorted(expected - actual), sorted(actual - expected)
    assert not missing, f"{spec.text!r} {spec.dst} in {zone}: misses {[str(at) for at in missing[:5]]}"
    assert not extra, f"{spec.text!r} {spec.dst} in {zone}: adds {[str(at) for at in extra[:5]]}"


# --- schedules --------------------------------------------------------------------------------------------


def _listed(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


def _one(number: int) -> tuple[str, frozenset[int]]:
    return str(number), frozenset([number])


def _numbers(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    """Text of one cron field and the numbers it stands for."""
    every = frozenset(range(low, high + 1))
    steps = st.integers(2, max(2, (high - low) // 2))
    return st.one_of(
        st.just(("*", every)),
        steps.map(lambda step: (f"*/{step}", frozenset(range(low, high + 1, step)))),
        st.integers(low, high).map(_one),
        st.frozensets(st.integers(low, high), min_size=2, max_size=5).map(lambda some: (_listed(some), some)),
        st.tuples(st.integers(low, high), st.integers(low, high), st.integers(1, 7)).map(
            lambda three: (
                f"{min(three[:2])}-{max(three[:2])}/{three[2]}",
                frozenset(range(min(three[:2]), max(three[:2]) + 1, three[2])),
            )
        ),
    )


def _length(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _workday_near(day: date, wanted: int) -> bool:
    """Whether the day is the workday nearest to a date of its month."""
    if wanted > _length(day):
        return False
    named = day.replace(day=wanted)
    choices = [named + DAY * shift for shift in (0, -1, 1, -2, 2)]
    return day == next(near for near in choices if near.isoweekday() < 6 and near.month == day.month)


DateQuestion = tuple[str, Callable[[date], bool]]


def dates() -> st.SearchStrategy[DateQuestion]:
    return st.one_of(
        st.just(("*", lambda _: True)),
        _numbers(1, 31).map(lambda field: (field[0], lambda day: day.day in field[1])),
        st.just(("L", lambda day: day.day == _length(day))),
        st.integers(1, 5).map(lambda before: (f"L-{before}", lambda day: day.day == _length(day) - before)),
        st.just(("LW", lambda day: _workday_near(day, _length(day)))),
        st.integers(1, 31).map(lambda wanted: (f"{wanted}W", lambda day: _workday_near(day, wanted))),
    )


def weekdays() -> st.SearchStrategy[DateQuestion]:
    names = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
    return st.one_of(
        st.just(("*", lambda _: True)),
        st.just(("MON-FRI", lambda day: day.isoweekday() < 6)),
        st.frozensets(st.integers(0, 7), min_size=1, max_size=4).map(
            lambda some: (_listed(some), lambda day: bool({day.isoweekday(), day.isoweekday() % 7} & some))
        ),
        st.tuples(st.integers(0, 6), st.integers(1, 5)).map(
            lambda two: (
                f"{names[two[0]]}#{two[1]}",
                lambda day: day.isoweekday() % 7 == two[0] and (day.day + 6) // 7 == two[1],
            )
        ),
        st.integers(0, 6).map(
            lambda weekday: (
                f"{weekday}L",
                lambda day: day.isoweekday() % 7 == weekday and day.day + 7 > _length(day),
            )
        ),
    )


@st.composite
def specs(draw: st.DrawFn, near: datetime) -> Spec:
    """Any schedule, more often than not one that is due about a local time."""
    hours = st.integers(near.hour - 1, near.hour + 1).map(lambda hour: hour % 24)
    minute, hour = draw(_numbers(0, 59)), draw(hours.map(_one) | _numbers(0, 23))
    any_day, that_day = ("*", lambda _: True), (str(near.day), lambda day: day.day == near.day)
    date_text, by_date = draw(st.sampled_from([any_day, that_day]) | dates())
    weekday_text, by_weekday = draw(st.just(any_day) | weekdays())
    month_text, months = draw(
        st.sampled_from([("*", frozenset(range(1, 13))), _one(near.month)]) | _numbers(1, 12)
    )
    both = date_text.startswith("*") or weekday_text.startswith("*")

    def on_day(day: date) -> bool:
        if day.month not in months:
            return False
        return (by_date(day) and by_weekday(day)) if both else (by_date(day) or by_weekday(day))

    return Spec(
        f"{minute[0]} {hour[0]} {date_text} {month_text} {weekday_text}",
        hour[1],
        minute[1],
        on_day,
        minute[0].startswith("*") or hour[0].startswith("*"),
        draw(st.none() | st.tuples(st.sampled_from(["next", "skip"]), st.sampled_from(["once", "twice"]))),
    )


@st.composite
def changed_zones(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone and one of the moments its clocks are changed, or any moment if they are not that year."""
    zone, year = draw(st.sampled_from(ZONES)), draw(st.integers(YEARS[0], YEARS[-1]))
    found = changes(zone, year)
    return zone, draw(st.sampled_from(found)) if found else datetime(year, 3, 1, tzinfo=UTC)


# --- the claims -------------------------------------------------------------------------------------------


@pytest.mark.skipif(EXHAUSTIVE, reason="every change is walked instead")
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_due_times_around_clock_changes_are_those_of_a_walk_over_the_minutes(data: st.DataObject) -> None:
    zone, change = data.draw(changed_zones())
    spec = data.draw(specs(local_of(change - MINUTE, zone_info(zone))))
    check(spec, zone, walk(change, zone_info(zone)))


@pytest.mark.timeout(7200)  # of all changes
def test_usual_schedules_around_clock_changes_are_due_as_a_walk_over_the_minutes_says() -> None:
    checked = 0
    for zone, change in known_changes():
        walked = walk(change, zone_info(zone))
        for spec in usual_specs(local_of(change - MINUTE, zone_info(zone))):
            check(spec, zone, walked)
        checked += 1
    assert checked > (10_000 if EXHAUSTIVE else 10)


def known_changes() -> Iterator[tuple[str, datetime]]:
    """All of them, or those of one year of every twenty-fifth zone."""
    for number, zone in enumerate(distinct_zones()):
        if EXHAUSTIVE or number % 25 == 0:
            years = YEARS if EXHAUSTIVE else [YEARS[number % len(YEARS)]]
            yield from ((zone, change) for year in years for change in changes(zone, year))


def distinct_zones() -> Iterator[str]:
    """One name of each zone: many are links to another."""
    known = set()
    for zone in ZONES:
        data = files("tzdata").joinpath("zoneinfo", *zone.split("/")).read_bytes()
        if data not in known:
            known.add(data)
            yield zone


def usual_specs(near: datetime) -> Iterator[Spec]:
    """Some seventy schedules, most of them due about a local time, with every choice for gap and repeat."""
    choices = [None, ("next", "twice"), ("skip", "once"), ("skip", "twice")]
    days = [
        ("* * *", lambda _: True),
        (f"{near.day} {near.month} *", lambda day: (day.month, day.day) == (near.month, near.day)),
    ]
    for shift, minute, dst, (text, on_day) in product(range(-1, 3), (0, 30), choices, days):
        hour = (near.hour + shift) % 24
        yield Spec(f"{minute} {hour} {text}", frozenset([hour]), frozenset([minute]), on_day, False, dst)
    every_hour, every_minute = frozenset(range(24)), frozenset(range(60))
    yield Spec("* * * * *", every_hour, every_minute, lambda _: True, True)
    yield Spec("*/20 * * * *", every_hour, frozenset([0, 20, 40]), lambda _: True, True)
    yield Spec("0 * * * *", every_hour, frozenset([0]), lambda _: True, True)
    yield Spec("15,45 */2 * * *", frozenset(range(0, 24, 2)), frozenset([15, 45]), lambda _: True, True)
    yield Spec("0,30 0-5 * * *", frozenset(range(6)), frozenset([0, 30]), lambda _: True, False)
    yield Spec("30 0 * * SUN", frozenset([0]), frozenset([30]), lambda day: day.isoweekday() == 7, False)
    yield Spec("0 0 L * *", frozenset([0]), frozenset([0]), lambda day: day.day == _length(day), False)


@settings(max_examples=60 if not EXHAUSTIVE else 2000, deadline=None)
@given(st.sampled_from(ZONES), st.integers(YEARS[0], YEARS[-1]))
def test_the_offset_periods_of_a_zone_are_those_of_a_walk_over_its_hours(name: str, year: int) -> None:
    zone, info = zone_named(name), zone_info(name)
    at = datetime(year, 1, 1, tzinfo=UTC)
    while at.year == year:
        expected = local_of(at, info) - at.replace(tzinfo=None)
        assert timedelta(seconds=zone.offset_period(to_seconds(at)).offset) == expected, f"{name} at {at}"
        at += timedelta(hours=1)


@settings(max_examples=200, deadline=None)
@given(dates(), weekdays(), st.integers(YEARS[0], YEARS[-1]))
def test_days_are_those_of_a_walk_over_the_calendar(
    by_date: DateQuestion, by_weekday: DateQuestion, year: int
) -> None:
    either = not by_date[0].startswith("*") and not by_weekday[0].startswith("*")
    start = datetime(year, 1, 1, tzinfo=UTC)
    walked = [start + number * DAY for number in range(2 * 365)]
    matches = [(by_date[1](day.date()), by_weekday[1](day.date())) for day in walked]
    expected = {
        day for day, match in zip(walked, matches, strict=True) if (any(match) if either else all(match))
    }
    spec = Spec(f"0 0 {by_date[0]} * {by_weekday[0]}", frozenset(), frozenset(), by_date[1], False)
    assert our_minutes(spec, "UTC", start, walked[-1] + DAY) == expected, f"{spec.text!r} in {year}"


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_asking_from_any_instant_gives_the_same_due_times(data: st.DataObject) -> None:
    zone, change = data.draw(changed_zones())
    spec = data.draw(specs(local_of(change - MINUTE, zone_info(zone))))
    due = sorted(our_minutes(spec, zone, change - DAY, change + DAY))
    asked = change + timedelta(seconds=data.draw(st.floats(-86_400, 86_400)))
    following = [at for at in due if at > asked]
    if following:
        assert our_timing(spec, zone).next_after(asked) == following[0], (
            f"{spec.text!r} in {zone} from {asked}"
        )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_canonical_form_is_understood_as_itself(data: st.DataObject) -> None:
    spec, zone = data.draw(specs(NOW)), data.draw(st.sampled_from(ZONES))
    timing = our_timing(spec, zone)
    if timing:
        again = parse_schedule(timing.canonical, None, now=NOW)
        assert isinstance(again, Recurring)
        assert again.timing.canonical == timing.canonical
