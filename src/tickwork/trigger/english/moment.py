"""Words for one instant: in 10 minutes, tomorrow at 9, next friday at 17:00, 24 december 2026 at 6pm."""

import re
from datetime import date, datetime, time, timedelta

from tickwork.model.duration import LONGEST
from tickwork.trigger.due.epoch import from_seconds
from tickwork.trigger.due.zone import Zone
from tickwork.trigger.english.cursor import Cursor
from tickwork.trigger.english.lexicon import MONTHS, SECONDS, WEEKDAYS, number_of, ordinal_of
from tickwork.trigger.english.phrase import read_amounts, read_time
from tickwork.trigger.misread import Misread

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_MARKS = {"now", "today", "tomorrow", "next"}


def is_moment(cursor: Cursor) -> bool:
    dated = any(DATE.fullmatch(word) or _YEAR.fullmatch(word) for word in cursor.words)
    return cursor.word in {"in", "now"} or not _MARKS.isdisjoint(cursor.words) or dated


def read_moment(cursor: Cursor, zone: Zone, now: datetime) -> datetime:
    if cursor.take("now"):
        at = now
    elif cursor.take("in"):
        at = now + _read_delay(cursor)
    else:
        at = _read_day_and_time(cursor, zone, now)
    if not cursor.done:
        cursor.fail()
    return at


def _read_delay(cursor: Cursor) -> timedelta:
    amounts = read_amounts(cursor)
    if not amounts:
        cursor.fail("a number of minutes, hours or days")
    if any(amount.unit not in SECONDS for amount in amounts):
        raise Misread("months and years differ in length", "give a number of days, or a date")
    seconds = sum(amount.number * SECONDS[amount.unit] for amount in amounts)
    if seconds > LONGEST.total_seconds():
        raise Misread("a delay is at most 10 years")
    return timedelta(seconds=seconds)


def _read_day_and_time(cursor: Cursor, zone: Zone, now: datetime) -> datetime:
    """The day and the time in either order."""
    second = _read_at(cursor)
    day = _read_day(cursor, now.astimezone(zone.info).date())
    if day is None:
        cursor.fail("a day")
    second = _read_at(cursor) if second is None else second
    if second is None:
        cursor.fail("at and a time of day")
    clock = (datetime.combine(day, time()) + timedelta(seconds=second)).time()
    at = from_seconds(zone.instant(datetime.combine(day, clock)))
    if at <= now:
        raise Misread(f"{day} at {clock:%H:%M} has passed")
    return at


def _read_at(cursor: Cursor) -> int | None:
    if not cursor.take("at"):
        return None
    second = None if cursor.done else read_time(cursor)
    if second is None:
        cursor.fail("a time of day")
    return second


def _read_day(cursor: Cursor, today: date) -> date | None:
    if cursor.take("today"):
        return today
    if cursor.take("tomorrow"):
        return today + timedelta(days=1)
    if cursor.take("next"):
        weekday = cursor.take_one_of(WEEKDAYS)
        if weekday is None:
            cursor.fail("a weekday")
        return today + timedelta(days=(WEEKDAYS[weekday] - today.isoweekday() - 1) % 7 + 1)
    cursor.take("on")
    return _read_date(cursor)


def _read_date(cursor: Cursor) -> date | None:
    if DATE.fullmatch(cursor.word):
        cursor.at += 1
        return read_date(*map(int, cursor.words[cursor.at - 1].split("-")))
    day, month = _read_day_and_month(cursor)
    if day is None or month is None:
        return None
    cursor.take(",")
    if not _YEAR.fullmatch(cursor.word):
        cursor.fail("a year")
    cursor.at += 1
    return read_date(int(cursor.words[cursor.at - 1]), month, day)


def _read_day_and_month(cursor: Cursor) -> tuple[int | None, int | None]:
    cursor.take("the")
    month = MONTHS.get(cursor.word)
    if month is not None:
        cursor.at += 1
    day = ordinal_of(cursor.word) or number_of(cursor.word)
    if day is not None:
        cursor.at += 1
    if month is None and day is not None:
        cursor.take("of")
        word = cursor.take_one_of(MONTHS)
        month = MONTHS[word] if word else None
    return day, month


def read_date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise Misread(f"{year}-{month:02}-{day:02} is not a date") from error
