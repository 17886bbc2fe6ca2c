"""Reads the limits of a sentence: starting, until and except."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tickwork.schedule.english.cursor import Cursor
from tickwork.schedule.english.describe import clock_text
from tickwork.schedule.english.parse_moment import DATE, iso_date, read_full_date
from tickwork.schedule.english.parse_time_of_day import read_time
from tickwork.schedule.english.words import (
    MONTHS,
    RANGE_WORDS,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    ordinal_of,
    weekdays_from,
)
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.excluded_days import check_country

_COUNTRY = re.compile(r"[a-z]{2}(?:-[a-z0-9]+)?")
_WORDS = ("am", "as", "at", "be", "by", "do", "in", "is", "it", "me", "my", "no", "on", "so", "to")
_KINDS_OF_HOLIDAY = ("public", "bank", "national")
_START = frozenset({"starting", "from", "beginning", "starts", "as of"})
_END = frozenset({"until", "till", "to", "through", "ending", "ends"})
_EXCEPT = frozenset({"except for", "except", "excluding", "but not", "but", "not"})


class Limits(NamedTuple):
    start: str | None = None  # ISO 8601, local
    end: str | None = None
    times: tuple[
        tuple[str, str], ...
    ] = ()  # times of day given with the start and the end: (starting, 09:00)
    exclude: Mapping[str, Any] = {}
    weekdays: frozenset[int] = frozenset()  # left out
    months: frozenset[int] = frozenset()  # left out


def extract_limits(cursor: Cursor) -> Limits:
    """Read the limits and remove them from the sentence, wherever they are."""
    limits, at = Limits(), 0
    while at < len(cursor.words):
        cursor.at = at
        found = _read_limit(cursor, limits)
        if found is None:
            at += 1
            continue
        limits = found
        _check_ends(cursor)
        end = cursor.at
        start = at - 1 if at and cursor.words[at - 1] == "," else at
        if cursor.words[end : end + 1] == [","]:
            end += 1
        cursor.remove(start, end)
        at = start
    cursor.at = 0
    return limits


def _check_ends(cursor: Cursor) -> None:
    """Only a time or another phrase may follow a limit: "except mondays in august" would mean other days."""
    word = cursor.word
    if word in ("and", "or"):
        raise ScheduleError(
            f'what follows "{word}", is it limited too?', "give each schedule by itself, joined with any"
        )
    if (not cursor.done and word in ("in", "of", "on", "the")) or word in WEEKDAYS or word in MONTHS:
        cursor.fail("a time of day, or the end")


def _read_limit(cursor: Cursor, limits: Limits) -> Limits | None:
    before = cursor.at
    for leads, read in _READERS:
        for lead in sorted(leads, key=len, reverse=True):
            if cursor.take(*lead.split()):
                found = read(cursor, limits, lead)
                if found is not None:
                    return found
                cursor.at = before
    return None


def _read_start(cursor: Cursor, limits: Limits, lead: str) -> Limits | None:
    cursor.take("on")
    stamp = _read_stamp(cursor)
    if stamp is None:
        if lead in ("from", "as of"):
            return None
        cursor.fail("a date such as 2026-12-24")
    if limits.start:
        raise ScheduleError("start is given twice")
    return limits._replace(
        start=" ".join(filter(None, stamp)), times=_with_time(limits, "starting", stamp[1])
    )


def _read_end(cursor: Cursor, limits: Limits, lead: str) -> Limits | None:
    cursor.take("on")
    stamp = _read_stamp(cursor)
    if stamp is None:
        return None if lead in RANGE_WORDS else cursor.fail("a date such as 2026-12-24")
    if limits.end:
        raise ScheduleError("end is given twice")
    return limits._replace(end=" ".join(filter(None, stamp)), times=_with_time(limits, "until", stamp[1]))


def _with_time(limits: Limits, lead: str, time: str) -> tuple[tuple[str, str], ...]:
    return (*limits.times, (lead, time)) if time else limits.times


def _read_stamp(cursor: Cursor) -> tuple[str, str] | None:
    """A date and perhaps a time of day."""
    day = read_full_date(cursor)
    if day is None:
        return None
    before = cursor.at
    cursor.take("at")
    time = None if cursor.done else read_time(cursor, loose=cursor.at > before)
    if time is None:
        cursor.at = before
        return day, ""
    return day, clock_text(time.second)


def _read_except(cursor: Cursor, limits: Limits, _: str) -> Limits:
    exclude = dict(limits.exclude)
    weekdays, months = set(limits.weekdays), set(limits.months)
    count = 0

    def read() -> bool | None:
        nonlocal count
        cursor.take("on")
        cursor.take("in")
        if cursor.take_one_of(("weekends", "weekend")):
            exclude["weekends"] = True
        elif DATE.fullmatch(cursor.word):
            exclude["dates"] = sorted({*exclude.get("dates", ()), iso_date(cursor)})
        elif countries := _read_holidays(cursor):
            exclude["holidays"] = sorted({*exclude.get("holidays", ()), *countries})
        elif word := cursor.take_one_of(WEEKDAYS):
            ranged = cursor.word in RANGE_WORDS and cursor.following in WEEKDAYS
            last = cursor.following if ranged else word
            cursor.at += 2 if ranged else 0
            weekdays.update(weekdays_from(WEEKDAYS[word], WEEKDAYS[last]))
        elif word := cursor.take_one_of(WEEKDAY_GROUPS):
            weekdays.update(WEEKDAY_GROUPS[word])
        elif word := cursor.take_one_of(MONTHS):
            _check_is_whole_month(cursor)
            months.add(MONTHS[word])
        else:
            return None
        count += 1
        return True

    cursor.take_list(read)
    if not count:
        _check_names_country(cursor)
        cursor.fail("weekdays, months, weekends, dates or holidays of a country")
    return limits._replace(exclude=exclude, weekdays=frozenset(weekdays), months=frozenset(months))


def _check_is_whole_month(cursor: Cursor) -> None:
    if cursor.word.isdigit() or ordinal_of(cursor.word):
        raise ScheduleError(
            "a date to leave out needs its year", 'such as "every day at 9am except 2026-12-24"'
        )


def _check_names_country(cursor: Cursor) -> None:
    cursor.take_one_of(_KINDS_OF_HOLIDAY)
    if cursor.word in ("holidays", "holiday"):
        raise ScheduleError(
            "the holidays of which country?", 'give its code: "every weekday at 9am except holidays in FR"'
        )


def _read_holidays(cursor: Cursor) -> list[str]:
    """Holidays in FR and DE-BY; FR holidays."""
    start = cursor.at
    cursor.take_one_of(_KINDS_OF_HOLIDAY)
    before = cursor.take("holidays", "in") or cursor.take("holidays", "of")
    countries = cursor.take_list(lambda: _read_country(cursor))
    cursor.take_one_of(_KINDS_OF_HOLIDAY)
    after = not before and cursor.take("holidays")
    if before and not countries:
        cursor.fail("the code of a country, such as FR")
    if not countries or not (before or after):
        cursor.at = start
        return []
    return [check_country(code) for code in countries]


def _read_country(cursor: Cursor) -> str | None:
    if not _COUNTRY.fullmatch(cursor.word):
        return None
    if cursor.word in _WORDS and not cursor.written[cursor.at].isupper():
        return None
    cursor.at += 1
    return cursor.before


_READERS: tuple[tuple[frozenset[str], Callable[[Cursor, Limits, str], Limits | None]], ...] = (
    (_START, _read_start),
    (_END, _read_end),
    (_EXCEPT, _read_except),
)
