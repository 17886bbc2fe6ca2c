"""Calendar events of systemd: Mon..Fri 09:00, *-*-* 00:00:00, Mon *-*-1..7 08:00, *:0/15."""

import re
from typing import NamedTuple

from tickwork.schedule.cron.days import (
    EVERY_DATE,
    EVERY_MONTH,
    EVERY_WEEKDAY,
    EVERY_YEAR,
    CronDays,
    Dates,
    Weekdays,
)
from tickwork.schedule.cron.field import DATE, HOUR, MINUTE, MONTH, SECOND, YEAR, Field
from tickwork.schedule.cron.read_expression import Cron
from tickwork.schedule.due.calendar_bit_masks import Times, mask_of, numbers_in
from tickwork.schedule.due.next_due_time import AS_SHOWN, ONCE_EACH
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.english.vocabulary import WEEKDAYS, weekdays_from
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.zone_name import read_zone_name

_PART = r"[0-9*][0-9*,./]*"
_WEEKDAYS = r"[a-z]{3,9}(?:(?:\.\.|-)[a-z]{3,9})?"
_WEEKDAY_TOKEN = re.compile(rf"{_WEEKDAYS}(?:,{_WEEKDAYS})*,?")
_DATE_TOKEN = re.compile(rf"(?:({_PART})-)?({_PART})([-~])({_PART})")
_TIME_TOKEN = re.compile(rf"({_PART}):({_PART})(?::({_PART}))?")
_ZONE_TOKEN = re.compile(r"utc|[a-z_]+(?:/[a-z0-9_+-]+){1,2}")
_CODES = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")


class CalendarEvent(NamedTuple):
    what: Cron | str  # a cron expression or an RRULE
    zone: Zone | None


class _Tokens(NamedTuple):
    weekday: str
    date: str
    time: str
    zone: str


def is_calendar_event(text: str) -> bool:
    return any(mark in text for mark in ("*", "..", "~")) and _tokens(text) is not None


def read_calendar_event(text: str) -> CalendarEvent:
    tokens = _tokens(text)
    if tokens is None:
        raise ScheduleError(f"{text[:80]!r} is not a calendar event", 'such as "Mon..Fri 09:00"')
    zone = read_zone_name(text.rsplit(maxsplit=1)[-1]) if tokens.zone else None
    times, starred = _read_time(tokens.time)
    days = _read_date(tokens.date)
    weekdays = _read_weekdays(tokens.weekday) if tokens.weekday else EVERY_WEEKDAY.plain
    dst = AS_SHOWN if starred else ONCE_EACH
    if weekdays == EVERY_WEEKDAY.plain:
        return CalendarEvent(Cron(times, days, dst), zone)
    if days.dates == EVERY_DATE:
        return CalendarEvent(Cron(times, days._replace(weekdays=Weekdays(weekdays)), dst), zone)
    return CalendarEvent(_date_and_weekday_rule(days, weekdays, times), zone)


def _tokens(text: str) -> _Tokens | None:
    """Weekday, date, time and zone, in this order; each may be missing."""
    left = text.lower().split()
    kinds = (_WEEKDAY_TOKEN, _DATE_TOKEN, _TIME_TOKEN, _ZONE_TOKEN)
    tokens = _Tokens(*(left.pop(0) if left and kind.fullmatch(left[0]) else "" for kind in kinds))
    names = re.split(r",|\.\.|-", tokens.weekday.rstrip(","))
    known = not tokens.weekday or all(name in WEEKDAYS for name in names)
    return tokens if known and not left and (tokens.date or tokens.time) else None


def _read_weekdays(token: str) -> int:
    found: set[int] = set()
    for item in token.rstrip(",").split(","):
        first, *last = (WEEKDAYS[name] for name in re.split(r"\.\.|-", item))
        end = last[-1] if last else first
        found |= set(weekdays_from(first, end))
    return mask_of(found)


def _read_date(token: str) -> CronDays:
    match = _DATE_TOKEN.fullmatch(token)
    if not match:
        return CronDays()
    year, month, sign, day = match.groups()
    years = _numbers(year, YEAR) >> YEAR.low if year and year != "*" else EVERY_YEAR
    months = _numbers(month, MONTH) if month != "*" else EVERY_MONTH
    if sign == "~":
        dates = Dates(before_last=_before_last(day))
    else:
        plain = _numbers(day, DATE)
        dates = EVERY_DATE if plain == EVERY_DATE.plain else Dates(plain)
    return CronDays(dates, EVERY_WEEKDAY, months, years)


def _before_last(text: str) -> int:
    """`~7/1` counts down: the last seven days."""
    found: list[int] = []
    for item in text.split(","):
        base, slash, step = item.partition("/")
        numbers = numbers_in(_numbers(base, DATE))
        if slash:
            numbers = list(range(numbers[0], 0, -max(int(step[:4]) if step.isdigit() else 1, 1)))
        found += numbers
    return mask_of(number - 1 for number in found)


def _read_time(token: str) -> tuple[Times, bool]:
    """The times, and whether one of their fields begins with a star, which decides how clock changes are treated."""
    match = _TIME_TOKEN.fullmatch(token)
    if not match:
        return Times(1, 1), False
    hour, minute, second = match[1], match[2], match[3] or "0"
    if "." in second.replace("..", ""):
        raise ScheduleError("due times are whole seconds", 'such as "*-*-* 00:00:00"')
    times = Times(_numbers(hour, HOUR), _numbers(minute, MINUTE), _numbers(second, SECOND))
    return times, any(part.startswith("*") for part in (hour, minute, second))


def _numbers(text: str, field: Field) -> int:
    return field.read(text.replace("..", "-"), _no_spread)


def _no_spread(field: str, _: int) -> int:
    raise ScheduleError(f"{field}: systemd has no H", 'such as "*:0/15"')


def _date_and_weekday_rule(days: CronDays, weekdays: int, times: Times) -> str:
    """In systemd, days must match both the date and the weekday, as in an RRULE; cron would take either."""
    if days.years != EVERY_YEAR:
        raise ScheduleError(
            "a weekday, a date and a year cannot be combined",
            'leave the year out, and give start and end: "Mon *-*-1..7 08:00"',
        )
    dates = numbers_in(days.dates.plain) + [-before - 1 for before in numbers_in(days.dates.before_last)]
    parts: dict[str, list[int] | list[str]] = {
        "BYMONTH": numbers_in(days.months) if days.months != EVERY_MONTH else [],
        "BYMONTHDAY": dates,
        "BYDAY": [_CODES[day] for day in numbers_in(weekdays)],
        "BYHOUR": numbers_in(times.hours),
        "BYMINUTE": numbers_in(times.minutes),
        "BYSECOND": numbers_in(times.seconds),
    }
    given = (f"{name}={','.join(map(str, values))}" for name, values in parts.items() if values)
    return ";".join(["FREQ=MONTHLY", *given])
