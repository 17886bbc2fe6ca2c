"""One RRULE of RFC 5545: text to days and times of day, and back."""

import re
from datetime import datetime
from typing import NamedTuple, get_args

from tickwork.schedule.due.calendar_bit_masks import (
    EVERY_HOUR,
    EVERY_MINUTE,
    EVERY_SECOND,
    FIRST_DAY,
    Times,
    from_seconds,
    mask_of,
    numbers_in,
)
from tickwork.schedule.due.next_due_time import AS_SHOWN, ONCE_EACH, Dst
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.rrule.days import Frequency, RecurrenceDays

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_NUMBER = re.compile(r"[+-]?[0-9]{1,8}")
_BYDAY = re.compile(rf"([+-]?[0-9]{{1,2}})?({'|'.join(_WEEKDAYS)})")
_SUB_DAY = {
    "HOURLY": (3600, 24),
    "MINUTELY": (60, 60),
    "SECONDLY": (1, 60),
}  # seconds, how many in the next unit
_LIMITS = {
    "BYMONTH": (1, 12),
    "BYWEEKNO": (-53, 53),
    "BYYEARDAY": (-366, 366),
    "BYMONTHDAY": (-31, 31),
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
    "BYSECOND": (0, 59),
    "BYSETPOS": (-366, 366),
}
_KEYS = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_LIMITS)
_LONGEST_INTERVAL = 1_000_000
_MONTHS_IN_YEAR = 12

# A Monday, the first of a month and of a year: without DTSTART a weekly rule is due on Mondays, a monthly
# one on the 1st, a yearly one on 1 January. The day on which the rule was written does not matter.
_ANCHOR = datetime(2001, 1, 1)  # noqa: DTZ001 (local to whichever zone)


class RecurrenceRule(NamedTuple):
    """Times of day on days; without times, every `step` real seconds on those days."""

    days: RecurrenceDays
    times: Times | None
    dst: Dst
    step: int = 0

    @property
    def filters_days(self) -> bool:
        return any(self.days[4:])

    @property
    def text(self) -> str:
        """The canonical text: all parts that matter, none left to a default, always in the same order."""
        days, times = self.days, self.times
        counted = times is None or days.frequency not in _SUB_DAY
        ordinals = sorted((day, nth) for nth, day in days.nth_weekdays)
        parts = {
            "FREQ": days.frequency if counted else "DAILY",
            "INTERVAL": str(days.interval) if days.interval > 1 else "",
            "WKST": _WEEKDAYS[days.week_start] if days.week_start else "",
            "BYMONTH": _listed(days.months),
            "BYWEEKNO": _listed(days.weeks),
            "BYYEARDAY": _listed(days.year_days),
            "BYMONTHDAY": _listed(days.dates),
            "BYDAY": ",".join(
                [_WEEKDAYS[day] for day in sorted(days.weekdays)]
                + [f"{nth}{_WEEKDAYS[day]}" for day, nth in ordinals]
            ),
            "BYHOUR": _listed(numbers_in(times.hours)) if times else "",
            "BYMINUTE": _listed(numbers_in(times.minutes)) if times else "",
            "BYSECOND": _listed(numbers_in(times.seconds)) if times and times.seconds != 1 else "",
            "BYSETPOS": _listed(days.positions),
        }
        return ";".join(f"{key}={value}" for key, value in parts.items() if value)


def local_anchor(start: int | None, zone: Zone) -> datetime:
    """The local time a rule is counted from."""
    return _ANCHOR if start is None else from_seconds(zone.local(start)).replace(tzinfo=None)


def read_rule(text: str, anchor: datetime) -> tuple[RecurrenceRule, dict[str, str]]:
    """The rule, counted from a local time, and its parts as written (for COUNT and UNTIL)."""
    parts = _read_parts(text)
    frequency, interval = _read_frequency(parts), _read_interval(parts)
    days = _read_days(parts, frequency, interval, anchor)
    if frequency in _SUB_DAY:
        return _sub_day_rule(parts, days, anchor), parts
    days = _with_defaults(_named_months(days, anchor), anchor)
    times = Times(
        mask_of(_numbers(parts, "BYHOUR") or [anchor.hour]),
        mask_of(_numbers(parts, "BYMINUTE") or [anchor.minute]),
        mask_of(_numbers(parts, "BYSECOND") or [anchor.second]),
    )
    if days.positions and times.per_day > 1:
        raise ScheduleError("BYSETPOS needs exactly one time a day", "give one BYHOUR and one BYMINUTE")
    return RecurrenceRule(days, times, ONCE_EACH), parts


def _read_parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in filter(None, text.upper().split(";")):
        key, equals, value = part.partition("=")
        if not equals or key not in _KEYS:
            raise ScheduleError(
                f"RRULE: {part[:40]!r} is not a known part", f"the parts are {', '.join(_KEYS)}"
            )
        if key in parts:
            raise ScheduleError(f"RRULE: {key} is given twice")
        parts[key] = value
    if "COUNT" in parts and "UNTIL" in parts:
        raise ScheduleError("RRULE: COUNT and UNTIL exclude each other")
    return parts


def _read_frequency(parts: dict[str, str]) -> Frequency:
    for frequency in get_args(Frequency):
        if parts.get("FREQ") == frequency:
            return frequency  # type: ignore[no-any-return] # the literal's own values
    choices = ", ".join(get_args(Frequency))
    raise ScheduleError(
        f"RRULE: FREQ={parts.get('FREQ', '')[:40]} is not a frequency", f"use one of {choices}"
    )


def _read_interval(parts: dict[str, str]) -> int:
    return _number("INTERVAL", parts.get("INTERVAL", "1"), 1, _LONGEST_INTERVAL)


def _read_days(
    parts: dict[str, str], frequency: Frequency, interval: int, anchor: datetime
) -> RecurrenceDays:
    weekdays, nth_weekdays = _read_weekdays(parts, frequency)
    days = RecurrenceDays(
        frequency,
        interval,
        anchor.toordinal() - FIRST_DAY,
        _week_start(parts),
        frozenset(_numbers(parts, "BYMONTH")),
        frozenset(_numbers(parts, "BYMONTHDAY")),
        weekdays,
        nth_weekdays,
        frozenset(_numbers(parts, "BYYEARDAY")),
        frozenset(_numbers(parts, "BYWEEKNO")),
        frozenset(_numbers(parts, "BYSETPOS")),
    )
    if days.weeks and frequency != "YEARLY":
        raise ScheduleError("RRULE: BYWEEKNO needs FREQ=YEARLY")
    if days.positions and frequency not in ("YEARLY", "MONTHLY", "WEEKLY"):
        raise ScheduleError(f"RRULE: BYSETPOS cannot be combined with FREQ={frequency}")
    return days


def _read_weekdays(
    parts: dict[str, str], frequency: str
) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    weekdays, nth_weekdays = set(), set()
    for item in filter(None, parts.get("BYDAY", "").split(",")):
        match = _BYDAY.fullmatch(item)
        nth = int(match[1] or 0) if match else 0
        if not match or abs(nth) > 53 or (match[1] and not nth):  # noqa: PLR2004 (weeks in a year)
            raise ScheduleError(
                f"RRULE: BYDAY={item[:40]} is not a weekday", "write MO, TU … SU, 2MO or -1FR"
            )
        if nth and (frequency not in ("YEARLY", "MONTHLY") or "BYWEEKNO" in parts):
            raise ScheduleError(f"RRULE: BYDAY={item} with a number needs FREQ=MONTHLY or YEARLY")
        if nth:
            nth_weekdays.add((nth, _WEEKDAYS.index(match[2])))
        else:
            weekdays.add(_WEEKDAYS.index(match[2]))
    return frozenset(weekdays), frozenset(nth_weekdays)


def _week_start(parts: dict[str, str]) -> int:
    if parts.get("WKST", "MO") not in _WEEKDAYS:
        raise ScheduleError(f"RRULE: WKST={parts['WKST'][:40]} is not a weekday", "write MO, TU … SU")
    return _WEEKDAYS.index(parts.get("WKST", "MO"))


def _named_months(days: RecurrenceDays, anchor: datetime) -> RecurrenceDays:
    """Replaces every n-th month with a list of months, if it is the same in every year."""
    if days.frequency != "MONTHLY" or days.interval == 1 or _MONTHS_IN_YEAR % days.interval:
        return days
    months = frozenset(month for month in range(1, 13) if (month - anchor.month) % days.interval == 0)
    if days.months:
        months &= days.months
    if not months:
        raise ScheduleError("RRULE: INTERVAL never meets BYMONTH, so this is never due")
    return days._replace(interval=1, months=months)


def _with_defaults(days: RecurrenceDays, anchor: datetime) -> RecurrenceDays:
    """Days that the rule does not give are taken from the anchor."""
    if days.weeks and not (days.weekdays or days.dates or days.year_days):
        return days._replace(weekdays=frozenset([anchor.weekday()]))
    if days.weeks or days.year_days or days.dates or days.weekdays or days.nth_weekdays:
        return days
    if days.frequency == "WEEKLY":
        return days._replace(weekdays=frozenset([anchor.weekday()]))
    if days.frequency == "MONTHLY":
        return days._replace(dates=frozenset([anchor.day]))
    if days.frequency == "YEARLY":
        return days._replace(dates=frozenset([anchor.day]), months=days.months or frozenset([anchor.month]))
    return days


def _sub_day_rule(parts: dict[str, str], days: RecurrenceDays, anchor: datetime) -> RecurrenceRule:
    unit, in_next = _SUB_DAY[days.frequency]
    rule = RecurrenceRule(days, None, AS_SHOWN, unit * days.interval)
    timed = any(key in parts for key in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    if not timed and not rule.filters_days:
        return rule
    if in_next % days.interval == 0:
        return rule._replace(times=_even_times(parts, days, anchor), days=days._replace(interval=1))
    if timed:
        raise ScheduleError(
            f"RRULE: INTERVAL={days.interval} does not go evenly into the next longer unit, "
            "so BYHOUR, BYMINUTE and BYSECOND cannot limit it"
        )
    return rule


def _even_times(parts: dict[str, str], days: RecurrenceDays, anchor: datetime) -> Times:
    hours = mask_of(_numbers(parts, "BYHOUR")) or EVERY_HOUR
    minutes, seconds = mask_of(_numbers(parts, "BYMINUTE")), mask_of(_numbers(parts, "BYSECOND"))
    if days.frequency == "HOURLY":
        hours &= mask_of(range(anchor.hour % days.interval, 24, days.interval))
        times = Times(hours, minutes or 1 << anchor.minute, seconds or 1 << anchor.second)
    elif days.frequency == "MINUTELY":
        minutes = (minutes or EVERY_MINUTE) & mask_of(range(anchor.minute % days.interval, 60, days.interval))
        times = Times(hours, minutes, seconds or 1 << anchor.second)
    else:
        seconds = (seconds or EVERY_SECOND) & mask_of(range(anchor.second % days.interval, 60, days.interval))
        times = Times(hours, minutes or EVERY_MINUTE, seconds)
    if not times.per_day:
        raise ScheduleError("RRULE: INTERVAL never meets BYHOUR, BYMINUTE and BYSECOND, so this is never due")
    return times


def _numbers(parts: dict[str, str], key: str) -> list[int]:
    low, high = _LIMITS[key]
    return [_number(key, item, low, high) for item in filter(None, parts.get(key, "").split(","))]


def _number(key: str, text: str, low: int, high: int) -> int:
    value = int(text) if _NUMBER.fullmatch(text) else None
    if value is None or not low <= value <= high or (value == 0 and low < 0):
        but_zero = " except 0" if low < 0 else ""
        raise ScheduleError(f"RRULE: {key}={text[:40]} is not a number from {low} to {high}{but_zero}")
    return value


def _listed(numbers: frozenset[int] | list[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
