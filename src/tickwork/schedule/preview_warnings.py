"""Warnings about a valid schedule: clock changes, days without due times, and cron expressions that other programs read
differently. Quartz numbers the days of the week from 1, Sunday; croniter has the seconds last."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from tickwork.model.parsed_schedule_and_preview import Timing
from tickwork.schedule.compile_timing import compile_source
from tickwork.schedule.cron.days import EVERY_DATE, EVERY_WEEKDAY
from tickwork.schedule.cron.read_expression import Cron, read_cron
from tickwork.schedule.due.calendar_bit_masks import DAY, from_seconds, month_length, numbers_in, to_seconds
from tickwork.schedule.due.next_due_time import WallClock
from tickwork.schedule.due.time_zone import OffsetPeriod, zone_named
from tickwork.schedule.english.describe import (
    WEEKDAYS,
    clock_text,
    count_with_unit,
    cron_words,
    join_with_and,
    ordinal,
)
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.excluded_days import USUAL_WEEKEND, reason_excluded, weekend_of
from tickwork.schedule.parse import why_never_due
from tickwork.schedule.parse_notation import notation_of

_SECOND = timedelta(seconds=1)
_OFTEN = timedelta(seconds=10)
_AHEAD = 400 * DAY
_MOST = 10
_STEPS = 500  # due times that are checked for excluded days
_LEAP_YEAR = 2024
_LEAP_DAY = 29
_LIMITS = ("start", "end", "exclude")
_SECONDS = re.compile(r"[0-9]+(?:,[0-9]+)*|\*/[0-9]+")  # as they are written where they come last
_WEEKDAY_NUMBER = re.compile(r"(?<![0-9#/])[0-9]")


def warnings_of(
    timing: Timing, canonical: Mapping[str, Any], after: datetime, due: Sequence[datetime]
) -> Iterator[str]:
    if not due:
        yield why_never_due(timing)[0]
        return
    gaps = [later - earlier for earlier, later in pairwise(due)]
    if gaps and min(gaps) <= _OFTEN:
        yield f"this runs every {count_with_unit(min(gaps) // _SECOND, 'second')}"
    found: list[str] = []
    parts = canonical.get("any", [canonical])
    for part in parts:
        found += [
            *_day_warnings(part),
            *_clock_warnings(part, to_seconds(after)),
            *_weekend_warnings(part, due[0].year),
            *_exclusion_warnings(part, after, due, _STEPS // len(parts)),
        ]
    yield from dict.fromkeys(found[:_MOST])


def _day_warnings(part: Mapping[str, Any]) -> Iterator[str]:
    if "cron" not in part:
        return
    days = read_cron(part["cron"]).days
    if days.either:
        yield "a day of the month and a day of the week are given: this runs on either"
    elif days.dates != EVERY_DATE and days.weekdays != EVERY_WEEKDAY:
        yield "one of the two kinds of day begins with a star: this runs on days that match both"
    shortest = min(month_length(_LEAP_YEAR, month) for month in numbers_in(days.months))
    for date in numbers_in(days.dates.plain if days.dates != EVERY_DATE else 0):
        if date > shortest:
            yield f"months without a {ordinal(date)} are left out; write L for the last day of a month"
        elif date == shortest == _LEAP_DAY:
            yield "29 February comes every fourth year"


def _clock_warnings(part: Mapping[str, Any], after: int) -> Iterator[str]:
    source = compile_source({name: value for name, value in part.items() if name not in _LIMITS})
    if isinstance(source, WallClock) and not source.runs_evenly:
        yield from _clock_change_warnings(source, after, after + _AHEAD)


def _weekend_warnings(part: Mapping[str, Any], year: int) -> Iterator[str]:
    exclude = part.get("exclude", {})
    weekend = (
        weekend_of(tuple(exclude.get("holidays", ())), year) if exclude.get("weekends") else USUAL_WEEKEND
    )
    if weekend != USUAL_WEEKEND:
        days = join_with_and(WEEKDAYS[day] for day in numbers_in(weekend))
        yield f"the weekend is {days}, as in {join_with_and(exclude['holidays'])}"


def _exclusion_warnings(
    part: Mapping[str, Any], after: datetime, due: Sequence[datetime], steps: int
) -> Iterator[str]:
    """The holidays and dates that are excluded up to the last due time shown."""
    if "exclude" not in part:
        return
    zone, last = zone_named(part["timezone"]), to_seconds(due[-1])
    source = compile_source({name: value for name, value in part.items() if name != "exclude"})
    at = source.next_after(to_seconds(after))
    for _ in range(steps):
        if at is None or at > last:
            return
        day = zone.local(at) // DAY
        reason = reason_excluded(part["exclude"], day)
        if reason:
            yield f"does not run on {from_seconds(day * DAY):%Y-%m-%d}: {reason}"
        at = source.next_after(zone.day_start(day + 1) - 1 if reason else at)


def _clock_change_warnings(wall: WallClock, start: int, end: int) -> Iterator[str]:
    """What the clock changes between two instants do to the times of a schedule."""
    for before, after in pairwise(wall.zone.offset_periods(start, end)):
        low, high = sorted((before.end + before.offset, before.end + after.offset))
        if wall.shows_between(low, high):
            yield _clock_change_warning(wall, before, after)


def _clock_change_warning(wall: WallClock, before: OffsetPeriod, after: OffsetPeriod) -> str:
    at, then = clock_text((before.end + before.offset) % DAY), clock_text((before.end + after.offset) % DAY)
    date = f"{from_seconds(before.end + min(before.offset, after.offset)):%Y-%m-%d}"
    if after.offset > before.offset:
        fate = f"run at {then}" if wall.dst.gap == "next" else "do not run"
        return f"{date}: the clocks jump from {at} to {then}; times between {fate}"
    return f"{date}: the clocks go back from {at} to {then}; times between run {wall.dst.repeat}"


def cron_difference_warnings(schedule: object) -> Iterator[str]:
    """Warnings for a valid schedule, as the user gave it."""
    for text in _cron_texts(schedule):
        fields = [field for field in text.upper().split() if "=" not in field]  # without TZ=…
        ours = _read_cron(fields)
        if ours is None:
            continue
        theirs = _read_cron(_numbered_from_one(fields))
        if theirs and theirs[:2] != ours[:2]:
            yield (
                f"days of the week are numbered from 0, Sunday, so this is {_words_of(ours)}; "
                f"Quartz numbers them from 1 and means {_words_of(theirs)}: write names such as MON-FRI"
            )
        theirs = _read_cron(_seconds_first(fields))
        if theirs and theirs[:2] != ours[:2]:
            yield (
                f"seconds come first, so this is {_words_of(ours)}; "
                f"programs that have them last mean {_words_of(theirs)}"
            )


def _cron_texts(schedule: object) -> Iterator[str]:
    if isinstance(schedule, str):
        yield from [schedule] if notation_of(schedule) == "cron" else []
    elif isinstance(schedule, dict):
        yield from _cron_texts(schedule.get("text"))
        yield from [schedule["cron"]] if isinstance(schedule.get("cron"), str) else []
        parts: Any = schedule.get("any")
        for part in parts if isinstance(parts, list) else []:
            yield from _cron_texts(part)


def _numbered_from_one(fields: list[str]) -> list[str]:
    """A Quartz expression with its weekdays numbered as in Tickwork; empty if that makes no difference."""
    place = len(fields) - 1 if len(fields) < 7 else 5  # noqa: PLR2004 (with the year last)
    quartz = len(fields) > 5 or "?" in fields  # noqa: PLR2004 (the plain form)
    if not quartz or not _WEEKDAY_NUMBER.search(fields[place]):
        return []
    moved = _WEEKDAY_NUMBER.sub(lambda number: str(int(number[0]) - 1), fields[place])
    return [*fields[:place], moved, *fields[place + 1 :]]


def _seconds_first(fields: list[str]) -> list[str]:
    """An expression with seconds as its sixth field, with the seconds moved to the front; empty if it has none."""
    if len(fields) < 6 or not _SECONDS.fullmatch(fields[5]):  # noqa: PLR2004 (with seconds)
        return []
    return [fields[5], *fields[:5], *fields[6:]]


def _read_cron(fields: list[str]) -> Cron | None:
    try:
        return read_cron(" ".join(fields))
    except ScheduleError:
        return None


def _words_of(cron: Cron) -> str:
    return cron_words([cron.times], cron.days, zone_named("UTC"))
