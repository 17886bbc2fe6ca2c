"""What somebody who reads a preview should know before relying on the schedule."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from tickwork.model.schedule import Timing
from tickwork.trigger.calendar import USUAL_WEEKEND, reason_excluded, weekend_of
from tickwork.trigger.cron import read_cron
from tickwork.trigger.cronday import EVERY_DATE, EVERY_WEEKDAY
from tickwork.trigger.due.days import month_length
from tickwork.trigger.due.epoch import DAY, from_seconds, to_seconds
from tickwork.trigger.due.times import members
from tickwork.trigger.due.wallclock import WallClock
from tickwork.trigger.due.zone import zone_named
from tickwork.trigger.english.names import WEEKDAYS, listed, ordinal, several
from tickwork.trigger.oddday import odd_days
from tickwork.trigger.parse import why_never
from tickwork.trigger.timing import compile_source

_SECOND = timedelta(seconds=1)
_OFTEN = timedelta(seconds=10)
_AHEAD = 400 * DAY
_MOST = 10
_STEPS = 500  # due times looked at for days that are left out
_LEAP_YEAR = 2024
_LEAP_DAY = 29
_LIMITS = ("start", "end", "exclude")


def warnings_of(
    timing: Timing, canonical: Mapping[str, Any], after: datetime, due: Sequence[datetime]
) -> Iterator[str]:
    if not due:
        yield why_never(timing)[0]
        return
    gaps = [later - earlier for earlier, later in pairwise(due)]
    if gaps and min(gaps) <= _OFTEN:
        yield f"this runs every {several(min(gaps) // _SECOND, 'second')}"
    found: list[str] = []
    parts = canonical.get("any", [canonical])
    for part in parts:
        found += [
            *_about_days(part),
            *_about_clocks(part, to_seconds(after)),
            *_about_weekends(part, due[0].year),
            *_about_exclusions(part, after, due, _STEPS // len(parts)),
        ]
    yield from dict.fromkeys(found[:_MOST])


def _about_days(part: Mapping[str, Any]) -> Iterator[str]:
    if "cron" not in part:
        return
    days = read_cron(part["cron"]).days
    if days.either:
        yield "a day of the month and a day of the week are given: this runs on either"
    elif days.dates != EVERY_DATE and days.weekdays != EVERY_WEEKDAY:
        yield "one of the two kinds of day begins with a star: this runs on days that match both"
    shortest = min(month_length(_LEAP_YEAR, month) for month in members(days.months))
    for date in members(days.dates.plain if days.dates != EVERY_DATE else 0):
        if date > shortest:
            yield f"months without a {ordinal(date)} are left out; write L for the last day of a month"
        elif date == shortest == _LEAP_DAY:
            yield "29 February comes every fourth year"


def _about_clocks(part: Mapping[str, Any], after: int) -> Iterator[str]:
    source = compile_source({name: value for name, value in part.items() if name not in _LIMITS})
    if isinstance(source, WallClock) and not source.runs_evenly:
        yield from odd_days(source, after, after + _AHEAD)


def _about_weekends(part: Mapping[str, Any], year: int) -> Iterator[str]:
    exclude = part.get("exclude", {})
    weekend = (
        weekend_of(tuple(exclude.get("holidays", ())), year) if exclude.get("weekends") else USUAL_WEEKEND
    )
    if weekend != USUAL_WEEKEND:
        days = listed(WEEKDAYS[day] for day in members(weekend))
        yield f"the weekend is {days}, as in {listed(exclude['holidays'])}"


def _about_exclusions(
    part: Mapping[str, Any], after: datetime, due: Sequence[datetime], steps: int
) -> Iterator[str]:
    """Holidays and dates left out before the last of the times shown."""
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
