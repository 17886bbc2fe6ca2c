"""Dates with their year: 2026-12-24; 24 december 2026; thursday, december 24, 2026."""

import re
from datetime import date

from tickwork.trigger.english.cursor import Cursor
from tickwork.trigger.english.lexicon import LAST, MONTHS, WEEKDAYS, number_of, ordinal_of
from tickwork.trigger.english.names import WEEKDAYS as WEEKDAY_NAMES
from tickwork.trigger.misread import Misread

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
YEAR = re.compile(r"(?:19|20)[0-9]{2}")


def read_full_date(cursor: Cursor) -> str | None:
    found = read_date(cursor)
    return found.isoformat() if found else None


def iso_date(cursor: Cursor) -> str:
    cursor.at += 1
    return _date(*map(int, cursor.before.split("-"))).isoformat()


def read_date(cursor: Cursor) -> date | None:
    """None, and no step, when no date comes next."""
    start = cursor.at
    weekday = cursor.take_one_of(WEEKDAYS)
    cursor.take(",")
    found = _read(cursor)
    if found is None:
        cursor.at = start
    elif weekday and WEEKDAYS[weekday] != found.isoweekday() % 7:
        raise Misread(
            f"{found} is a {WEEKDAY_NAMES[found.isoweekday() % 7]}, not a {WEEKDAY_NAMES[WEEKDAYS[weekday]]}",
            f'if the date is right: "{found} at 9am"',
        )
    return found


def _read(cursor: Cursor) -> date | None:
    if DATE.fullmatch(cursor.word):
        return date.fromisoformat(iso_date(cursor))
    day, month = _read_day_and_month(cursor)
    if day is None or month is None or day == LAST:
        return None
    cursor.take(",")
    if not YEAR.fullmatch(cursor.word):
        return None
    cursor.at += 1
    return _date(int(cursor.before), month, day)


def _read_day_and_month(cursor: Cursor) -> tuple[int | None, int | None]:
    cursor.take("the")
    month = MONTHS.get(cursor.word)
    if month is not None:
        cursor.at += 1
        cursor.take("the")
    day = ordinal_of(cursor.word) or number_of(cursor.word)
    if day is not None:
        cursor.at += 1
    if month is None and day is not None:
        cursor.take("of")
        word = cursor.take_one_of(MONTHS)
        month = MONTHS[word] if word else None
    return day, month


def _date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise Misread(f"{year}-{month:02}-{day:02} is not a date") from error
