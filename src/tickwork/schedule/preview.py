"""Previews a schedule: its canonical form, its words, the next due times, and warnings such as clock changes."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.schedule import Preview, PreviewTime, Recurring, Timing
from tickwork.schedule.cron.days import EVERY_DATE, EVERY_WEEKDAY
from tickwork.schedule.cron.expression import read_cron
from tickwork.schedule.dialects.cron_differences import cron_difference_warnings
from tickwork.schedule.due.days_and_times import month_length, numbers_in
from tickwork.schedule.due.epoch import DAY, from_seconds, to_seconds
from tickwork.schedule.due.time_zone import OffsetPeriod, Zone, zone_named
from tickwork.schedule.due.wall_clock import WallClock
from tickwork.schedule.english.describe import WEEKDAYS, clock_text, count_with_unit, join_with_and, ordinal
from tickwork.schedule.errors import ScheduleProblems
from tickwork.schedule.excluded_days import USUAL_WEEKEND, reason_excluded, weekend_of
from tickwork.schedule.iso_instant import Moment, check_year, write_instant
from tickwork.schedule.options import read_zone
from tickwork.schedule.parse import parse_with_notes, why_never_due
from tickwork.schedule.timing import compile_source
from tickwork.schedule.zone_name import zone_warning


def clock_change_note(due: int, zone: Zone) -> str | None:
    """A note for a due time at which a clock change skips or repeats times; else None."""
    offset_period = zone.offset_period(due)
    following = zone.offset_period(offset_period.end)
    shown = clock_text((due + offset_period.offset) % DAY)
    if due == offset_period.start and offset_period.offset > offset_period.before:
        return f"the clocks jump from {clock_text((due + offset_period.before) % DAY)} to {shown}"
    if due - offset_period.start < offset_period.before - offset_period.offset:
        return f"the clocks show {shown} for the second time"
    if offset_period.end - due <= offset_period.offset - following.offset:
        return f"the clocks show {shown} twice, this is the first time"
    return None


def clock_change_warnings(wall: WallClock, start: int, end: int) -> Iterator[str]:
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


_SECOND = timedelta(seconds=1)
_OFTEN = timedelta(seconds=10)
_AHEAD = 400 * DAY
_MOST = 10
_STEPS = 500  # due times that are checked for excluded days
_LEAP_YEAR = 2024
_LEAP_DAY = 29
_LIMITS = ("start", "end", "exclude")


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
        yield from clock_change_warnings(source, after, after + _AHEAD)


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


MOST_TIMES = 100


def preview(
    schedule: str | dict[str, Any] | None,
    timezone: str | None,
    *,
    now: datetime,
    after: datetime | None = None,
    count: int = 5,
    viewer_timezone: str | None = None,
) -> Preview:
    """A schedule that is never due gets a warning and no times. One that cannot be parsed raises Invalid."""
    problems = ScheduleProblems()
    viewer = problems.attempt("viewer_timezone", read_zone, viewer_timezone)
    if after is not None:
        problems.attempt("after", check_year, after)
    if not 1 <= count <= MOST_TIMES:
        problems.add("count", f"count is a number from 1 to {MOST_TIMES}")
    try:
        understood, notes = parse_with_notes(schedule, timezone, now=now)
    except Invalid as invalid:
        raise Invalid([*problems.found, *invalid.errors]) from invalid
    problems.raise_any()
    zone = read_zone(timezone) or zone_named("UTC")
    if isinstance(understood, Recurring):
        found = _recurring(understood.timing, after or now, count, zone, viewer)
        about = [*notes, *cron_difference_warnings(schedule), *_zone_warnings(found.canonical)]
        return msgspec.structs.replace(found, warnings=[*about, *found.warnings])
    moment = understood or Moment(now, zone)
    words = moment.words if understood else "now"
    warnings = [*notes, *filter(None, [zone_warning(moment.zone.name)])]
    return Preview({"at": write_instant(moment.at)}, words, [_time(moment.at, moment.zone, viewer)], warnings)


def _recurring(timing: Timing, after: datetime, count: int, zone: Zone, viewer: Zone | None) -> Preview:
    canonical = timing.canonical
    zone = _zone_of(canonical) or zone
    due = list(islice(timing.due_times(after), min(count, canonical.get("max_runs", count))))
    times = [_time(at, zone, viewer) for at in due]
    return Preview(canonical, timing.words, times, list(warnings_of(timing, canonical, after, due)))


def _zone_warnings(canonical: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys(part.get("timezone", "UTC") for part in canonical.get("any", [canonical]))
    return [warning for name in names if (warning := zone_warning(name))]


def _zone_of(canonical: Mapping[str, Any]) -> Zone | None:
    """The time zone of the first part that has one; a period has none."""
    names = [part["timezone"] for part in canonical.get("any", [canonical]) if "timezone" in part]
    return zone_named(names[0]) if names else None


def _time(at: datetime, zone: Zone, viewer: Zone | None) -> PreviewTime:
    return PreviewTime(
        at.astimezone(UTC),
        _local(at, zone),
        clock_change_note(to_seconds(at), zone),
        _local(at, viewer) if viewer else None,
    )


def _local(at: datetime, zone: Zone) -> str:
    local = at.astimezone(zone.info)
    return f"{local:%a %Y-%m-%d %H:%M:%S %Z}" if local.second else f"{local:%a %Y-%m-%d %H:%M %Z}"
