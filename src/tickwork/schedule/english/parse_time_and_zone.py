"""Reads times of day and time zones: 9am, 17:00:30, half past nine, noon; Europe/Paris, New York time."""

import re
from functools import cache
from typing import NamedTuple

from tickwork.schedule.due.time_zone import Zone, zone_names
from tickwork.schedule.english.describe import MONTHS
from tickwork.schedule.english.tokenizer import Cursor
from tickwork.schedule.english.vocabulary import RANGE_WORDS
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.zone_name import ABBREVIATIONS, read_zone_name

_SLASHES = re.compile(r"([0-9]{1,4})[/.]([0-9]{1,2})[/.]([0-9]{2,4})|([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})")
_FRACTION = re.compile(r"[0-9]+/[0-9]+")
_NAME = re.compile(r"[a-z_]+(?:/[a-z0-9_+-]+){1,2}")
_OFFSET = re.compile(r"(?:utc|gmt)[+-][0-9:]+")
_SHORT = 2
_LONGEST_CITY = 3  # words


def extract_zone(cursor: Cursor) -> Zone | None:
    """Remove the name of a time zone, with the "in" before it, from the sentence."""
    for at, word in enumerate(cursor.words):
        reject_ambiguous_date(word)
        if _names_zone(cursor, at):
            zone = read_zone_name(cursor.written[at])
            end = at + 2 if cursor.words[at + 1 : at + 2] == ["time"] else at + 1
            cursor.remove(at - 1 if at and cursor.words[at - 1] == "in" else at, end)
            return zone
    return None


def _names_zone(cursor: Cursor, at: int) -> bool:
    word = cursor.words[at]
    if _NAME.fullmatch(word) or _OFFSET.fullmatch(word):
        return True
    if word.upper() not in ABBREVIATIONS:
        return False
    before = cursor.words[at - 1] if at else ""
    return len(word) > _SHORT or before in ("am", "pm", "noon", "midnight") or clock_of(before) is not None


def reject_ambiguous_date(word: str) -> None:
    """12/11/2026 is in November for some people and in December for others."""
    if _FRACTION.fullmatch(word):
        raise ScheduleError(f"{word[:40]!r} is not clear", 'write whole numbers: "every 30 minutes"')
    match = _SLASHES.fullmatch(word)
    if not match:
        return
    first, second, year = (int(part) for part in match.groups() if part)
    if first > 31:  # noqa: PLR2004 (days in a month)
        first, second, year = second, year, first
    year += 2000 if year < 100 else 0  # noqa: PLR2004 (two digits)
    readings = {(month, day) for month, day in ((first, second), (second, first)) if 1 <= month <= 12}  # noqa: PLR2004
    readings = {(month, day) for month, day in readings if 1 <= day <= 31}  # noqa: PLR2004
    if not readings or not 1971 <= year <= 2099:  # noqa: PLR2004 (as elsewhere)
        raise ScheduleError(f"{word[:40]!r} is not a date", 'write it as "2099-12-24 18:00"')
    named = " or ".join(f"{day} {MONTHS[month - 1]} {year}" for month, day in sorted(readings))
    written = " or ".join(f'"{year}-{month:02}-{day:02} 18:00"' for month, day in sorted(readings))
    clear = (
        "is a date whose order differs from country to country" if len(readings) == 1 else "has two meanings"
    )
    raise ScheduleError(f"{word[:40]!r} {clear}: {named}?", f"write {written}")


def reject_city(cursor: Cursor) -> None:
    """Refuses "in New York": the error gives the name of the zone."""
    before = cursor.before
    if cursor.word != "in" and before not in ("am", "pm") and clock_of(before) is None:
        return
    start = cursor.at + (cursor.word == "in")
    cities = _cities()
    for count in range(_LONGEST_CITY, 0, -1):
        words = cursor.words[start : start + count]
        if len(words) == count and "_".join(words) in cities:
            name = " ".join(cursor.written[start : start + count])
            raise ScheduleError(
                f"{name[:40]!r} is not the name of a time zone", f"write in {cities['_'.join(words)]}"
            )


@cache
def _cities() -> dict[str, str]:
    return {zone.rsplit("/", 1)[-1].lower(): zone for zone in sorted(zone_names())}


_CLOCK = re.compile(r"([0-9]{1,2})(?:[:.h]([0-9]{2})(?::([0-9]{2}))?|h)?(am|pm)?")
_EXACT = re.compile(r"[0-9]{1,2}(?::[0-9]{2}(?::[0-9]{2})?(?:am|pm)?|(?:\.[0-9]{2})?(?:am|pm))")
NAMED_TIMES = {"noon": 43_200, "midday": 43_200, "midnight": 0}
_TWELVE = {"noon": 43_200, "midday": 43_200, "midnight": 0, "am": 0, "pm": 43_200}
_HOUR, _MINUTE, _HALF_DAY = 3600, 60, 12
_PAST = {"half": 30, "quarter": 15}


class Clock(NamedTuple):
    second: int
    halved: bool = False  # written with am or pm
    by_twelve: bool = False  # 1 to 12 without am or pm: either half of the day
    midnight: bool = False


class PartOfDay(NamedTuple):
    usual: int  # the hour if none is given
    hours: tuple[int, ...]


PARTS_OF_DAY = {
    "morning": PartOfDay(8, tuple(range(12))),
    "afternoon": PartOfDay(14, tuple(range(12, 18))),
    "evening": PartOfDay(18, tuple(range(17, 24))),
    "night": PartOfDay(22, (*range(19, 24), *range(6))),
}
PART_NAMES = {name: part for part in PARTS_OF_DAY for name in (part, f"{part}s")}


def read_times(cursor: Cursor, *, loose: bool) -> list[Clock]:
    """One or several. `loose` is after "at", where a number alone is a time."""
    times = cursor.take_list(lambda: read_time(cursor, loose=loose))
    if any(time.halved for time in times) and any(time.by_twelve for time in times):
        raise ScheduleError(
            "only some of the times have am or pm", 'give it with each: "every day at 9am and 5pm"'
        )
    return times


def read_time(cursor: Cursor, *, loose: bool) -> Clock | None:
    if cursor.word in _PAST and cursor.following in ("past", "to"):
        return _relative(cursor)
    if cursor.take_one_of(NAMED_TIMES):
        return _named(cursor.before)
    half = cursor.following if cursor.following in _TWELVE else ""
    if not loose and not (_EXACT.fullmatch(cursor.word) or (half and _CLOCK.fullmatch(cursor.word))):
        return None
    time = clock_of(cursor.word, half)
    if time is None:
        return None
    cursor.at += 2 if half else 1
    cursor.take("o'clock")
    return time


def _named(word: str) -> Clock:
    return Clock(NAMED_TIMES[word], halved=True, midnight=word == "midnight")


def _relative(cursor: Cursor) -> Clock | None:
    """Half past nine, quarter to five."""
    minute, word = _PAST[cursor.word], cursor.following
    if minute == _PAST["half"] and word == "to":
        return None
    start = cursor.at
    cursor.at += 2
    hour = read_time(cursor, loose=True)
    if hour is None or hour.second % _HOUR:
        cursor.at = start
        return None
    shift = minute if word == "past" else -minute
    return hour._replace(second=(hour.second + shift * _MINUTE) % (24 * _HOUR), midnight=False)


def clock_of(word: str, half: str = "") -> Clock | None:
    """`half` may be the am or pm of "9 am", or the noon of "12 noon"."""
    match = _CLOCK.fullmatch(word)
    if not match:
        return None
    if half in NAMED_TIMES:
        if (int(match[1]), int(match[2] or 0), match[4]) != (_HALF_DAY, 0, None):
            raise ScheduleError(f"{word} {half} is not a time of day", 'say "every day at noon"')
        return _named(half)
    half = match[4] or half
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 (a clock)
        hint = (
            'the end of a day is the beginning of the next: "every day at 00:00"' if word == "24:00" else None
        )
        raise ScheduleError(f"{word!r} is not a time of day", hint)
    if half and not 1 <= hour <= _HALF_DAY:
        raise ScheduleError(f"{word.removesuffix(half) + half!r} is not a time of day", "leave am or pm out")
    by_twelve = not half and 1 <= hour <= _HALF_DAY and not word.startswith("0")
    if half:
        hour = hour % _HALF_DAY + (_HALF_DAY if half == "pm" else 0)
    return Clock((hour * 60 + minute) * 60 + second, bool(half), by_twelve)


def read_window(cursor: Cursor, *, loose: bool) -> tuple[int, int] | None:
    """9am to 5pm; after "between" or "from" (`loose`) also 9 and 17. Both ends are included."""
    before = cursor.at
    start = read_time(cursor, loose=loose)
    if start is None:
        return None
    if not cursor.take_one_of((*RANGE_WORDS, "and") if loose else RANGE_WORDS):
        if loose:
            cursor.fail('"and" or "to"')
        cursor.at = before
        return None
    end = None if cursor.done else read_time(cursor, loose=True)
    if end is None:
        if loose:
            cursor.fail("a time of day")
        cursor.at = before
        return None
    return _same_half(start, end), end.second


def _same_half(start: Clock, end: Clock) -> int:
    """From 9 to 5pm means from 9am. From 1 to 5pm and from 9am to 11 are ambiguous, and refused."""
    noon = _HALF_DAY * _HOUR
    early = start.second % noon
    either = start.by_twelve and end.halved and (early + noon < end.second or early == 0)
    if either or (start.halved and end.by_twelve):
        raise ScheduleError(
            "only one end of the window has am or pm",
            'give it with both: "every hour between 9am and 5pm"',
        )
    return start.second


def time_in_part_of_day(time: Clock, part: str) -> Clock:
    """8 in the evening is 20:00; 9pm is not in the morning."""
    hour, rest = divmod(time.second, _HOUR)
    choices = [hour]
    if time.by_twelve:
        choices = [hour % _HALF_DAY, hour % _HALF_DAY + _HALF_DAY]
    for choice in choices:
        if choice in PARTS_OF_DAY[part].hours:
            return time._replace(second=choice * _HOUR + rest, halved=True, by_twelve=False)
    raise ScheduleError(f"{hour:02}:{rest // 60:02} is not in the {part}", 'leave it out: "every day at 9am"')


def read_part_of_day(cursor: Cursor) -> str | None:
    """Morning; in the morning; at night."""
    for lead in (("in", "the"), ("at",), ("during", "the"), ()):
        if tuple(cursor.words[cursor.at : cursor.at + len(lead)]) == lead:
            word = cursor.ahead(len(lead))
            if word in PART_NAMES and (lead != ("at",) or word == "night"):
                cursor.at += len(lead) + 1
                return PART_NAMES[word]
    return None
