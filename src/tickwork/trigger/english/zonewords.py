"""The time zone in a sentence."""

import re
from functools import cache

from tickwork.trigger.due.zone import Zone, zone_names
from tickwork.trigger.english.clock import clock_of
from tickwork.trigger.english.cursor import Cursor
from tickwork.trigger.english.names import MONTHS
from tickwork.trigger.misread import Misread
from tickwork.trigger.zone_name import ABBREVIATIONS, read_zone_name

_SLASHES = re.compile(r"([0-9]{1,4})[/.]([0-9]{1,2})[/.]([0-9]{2,4})|([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})")
_FRACTION = re.compile(r"[0-9]+/[0-9]+")
_NAME = re.compile(r"[a-z_]+(?:/[a-z0-9_+-]+){1,2}")
_OFFSET = re.compile(r"(?:utc|gmt)[+-][0-9:]+")
_SHORT = 2
_LONGEST_CITY = 3  # words


def take_zone(cursor: Cursor) -> Zone | None:
    """Remove the name of a time zone, with the "in" before it, from the sentence."""
    for at, word in enumerate(cursor.words):
        check_is_no_date(word)
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


def check_is_no_date(word: str) -> None:
    """12/11/2026 is in November for some and in December for others."""
    if _FRACTION.fullmatch(word):
        raise Misread(f"{word[:40]!r} is not clear", 'write whole numbers: "every 30 minutes"')
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
        raise Misread(f"{word[:40]!r} is not a date", 'write it as "2099-12-24 18:00"')
    named = " or ".join(f"{day} {MONTHS[month - 1]} {year}" for month, day in sorted(readings))
    written = " or ".join(f'"{year}-{month:02}-{day:02} 18:00"' for month, day in sorted(readings))
    clear = (
        "is a date whose order differs from country to country" if len(readings) == 1 else "has two meanings"
    )
    raise Misread(f"{word[:40]!r} {clear}: {named}?", f"write {written}")


def check_is_no_city(cursor: Cursor) -> None:
    """In New York: the zone has another name."""
    before = cursor.before
    if cursor.word != "in" and before not in ("am", "pm") and clock_of(before) is None:
        return
    start = cursor.at + (cursor.word == "in")
    cities = _cities()
    for count in range(_LONGEST_CITY, 0, -1):
        words = cursor.words[start : start + count]
        if len(words) == count and "_".join(words) in cities:
            name = " ".join(cursor.written[start : start + count])
            raise Misread(
                f"{name[:40]!r} is not the name of a time zone", f"write in {cities['_'.join(words)]}"
            )


@cache
def _cities() -> dict[str, str]:
    return {zone.rsplit("/", 1)[-1].lower(): zone for zone in sorted(zone_names())}
