"""Reads words for one instant: in 10 minutes, tomorrow at 9, next friday at 17:00, 24 december 2026 at 6pm."""

import re
from datetime import date, datetime, time, timedelta

from tickwork.model.quantities import LONGEST
from tickwork.schedule.due.calendar_bit_masks import from_seconds
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.english.describe import WEEKDAYS as WEEKDAY_NAMES
from tickwork.schedule.english.describe import clock_text
from tickwork.schedule.english.parse_frequency import read_amounts, seconds_of
from tickwork.schedule.english.parse_time_and_zone import (
    PART_NAMES,
    PARTS_OF_DAY,
    Clock,
    read_part_of_day,
    read_time,
    time_in_part_of_day,
)
from tickwork.schedule.english.tokenizer import Cursor
from tickwork.schedule.english.vocabulary import (
    FREQUENCY_ADVERBS,
    LAST,
    MONTHS,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    number_of,
    ordinal_of,
)
from tickwork.schedule.errors import ScheduleError

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
YEAR = re.compile(r"(?:19|20)[0-9]{2}")


def read_full_date(cursor: Cursor) -> str | None:
    found = read_date(cursor)
    return found.isoformat() if found else None


def iso_date(cursor: Cursor) -> str:
    cursor.at += 1
    return _date(*map(int, cursor.before.split("-"))).isoformat()


def read_date(cursor: Cursor) -> date | None:
    """None, without moving the cursor, when no date comes next."""
    start = cursor.at
    weekday = cursor.take_one_of(WEEKDAYS)
    cursor.take(",")
    found = _read(cursor)
    if found is None:
        cursor.at = start
    elif weekday and WEEKDAYS[weekday] != found.isoweekday() % 7:
        raise ScheduleError(
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
        raise ScheduleError(f"{year}-{month:02}-{day:02} is not a date") from error


_RECURRING_WORDS = {"every", "each", *FREQUENCY_ADVERBS, "nightly"} | {
    word
    for word in (*WEEKDAYS, *WEEKDAY_GROUPS, *PART_NAMES)
    if word.endswith("s") and len(word) > 4  # noqa: PLR2004
}
_MARKS = {"now", "immediately", "today", "tomorrow", "tonight", "next", "this"}
_DAY_AFTER_TOMORROW = ("day", "after", "tomorrow")
_WEEK = 7


def is_single_moment(cursor: Cursor) -> bool:
    if not _RECURRING_WORDS.isdisjoint(cursor.words) or cursor.word in ("once", "twice"):
        return False
    dated = any(DATE.fullmatch(word) or YEAR.fullmatch(word) for word in cursor.words)
    return (cursor.word == "in" and cursor.following != "the") or not _MARKS.isdisjoint(cursor.words) or dated


def read_moment(cursor: Cursor, zone: Zone, now: datetime) -> datetime:
    if cursor.take("now") or cursor.take("immediately") or cursor.take("right", "now"):
        at = now
    elif cursor.take("in"):
        at = now + _read_delay(cursor)
    elif cursor.words[-2:] == ["from", "now"]:
        at = now + _read_delay(cursor)
        cursor.take("from", "now")
    else:
        at = _read_day_and_time(cursor, zone, now)
    if not cursor.done:
        cursor.fail()
    return at


def _read_delay(cursor: Cursor) -> timedelta:
    amounts = read_amounts(cursor)
    if not amounts:
        cursor.fail("a number of minutes, hours or days")
    seconds = seconds_of(amounts)
    if seconds > LONGEST.total_seconds():
        raise ScheduleError("a delay is at most 10 years")
    return timedelta(seconds=seconds)


def _read_day_and_time(cursor: Cursor, zone: Zone, now: datetime) -> datetime:
    """The day and the time in either order."""
    given = _read_at(cursor)
    part = read_part_of_day(cursor)
    day = _read_day(cursor, now.astimezone(zone.info).date())
    if day is None:
        cursor.fail("a day with its month and year, or tomorrow")
    if cursor.before == "tonight":
        part = "night"
    part = part or read_part_of_day(cursor)
    given = _read_at(cursor) if given is None else given
    part = part or read_part_of_day(cursor)
    second = _second_of_day(cursor, given, part)
    clock_time = (datetime.combine(day, time()) + timedelta(seconds=second)).time()
    at = from_seconds(zone.instant(datetime.combine(day, clock_time)))
    if at <= now:
        raise ScheduleError(f"{day} at {clock_time:%H:%M} has passed", 'such as "tomorrow at 9am"')
    return at


def _second_of_day(cursor: Cursor, given: Clock | None, part: str | None) -> int:
    if given is None:
        if part is None:
            cursor.fail("at and a time of day")
        second = PARTS_OF_DAY[part].usual * 3600
        cursor.note(f'"{part}" is read as {clock_text(second)}')
        return second
    if given.midnight:
        cursor.note('"midnight" is read as 00:00, the beginning of that day')
    second = time_in_part_of_day(given, part).second if part else given.second
    if part == "night" and second < PARTS_OF_DAY["morning"].usual * 3600:
        raise ScheduleError(
            "which night, before or after that day?", 'say the date whose hour it is: "tomorrow at 2am"'
        )
    return second


def _read_at(cursor: Cursor) -> Clock | None:
    before = cursor.at
    at = cursor.take("at")
    given = None if cursor.done else read_time(cursor, loose=at)
    if given is None and at:
        if cursor.word == "night":
            cursor.at = before
            return None
        cursor.fail("a time of day")
    return given


def _read_day(cursor: Cursor, today: date) -> date | None:
    if cursor.take("today") or cursor.take("tonight"):
        return today
    if cursor.take("this"):
        return _this_weekday(cursor, today)
    if cursor.take("tomorrow"):
        return today + timedelta(days=1)
    cursor.take("the") if cursor.words[cursor.at + 1 : cursor.at + 4] == list(_DAY_AFTER_TOMORROW) else None
    if cursor.take(*_DAY_AFTER_TOMORROW):
        return today + timedelta(days=2)
    if cursor.take("next"):
        return _next_weekday(cursor, today)
    cursor.take("on")
    return read_date(cursor)


def _this_weekday(cursor: Cursor, today: date) -> date:
    if cursor.word in PARTS_OF_DAY:
        return today
    weekday = cursor.take_one_of(WEEKDAYS)
    if weekday is None:
        cursor.fail("a weekday, morning or evening")
    return today + timedelta(days=(WEEKDAYS[weekday] - today.isoweekday()) % _WEEK)


def _next_weekday(cursor: Cursor, today: date) -> date:
    weekday = cursor.take_one_of(WEEKDAYS)
    if weekday is None:
        cursor.fail("a weekday")
    day = today + timedelta(days=(WEEKDAYS[weekday] - today.isoweekday() - 1) % _WEEK + 1)
    if day.isocalendar()[:2] == today.isocalendar()[:2]:
        later = day + timedelta(days=_WEEK)
        cursor.note(f'"next {weekday}" is read as the coming one, {day}; the one after is {later}')
    return day
