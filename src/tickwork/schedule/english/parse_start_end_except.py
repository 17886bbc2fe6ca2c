"""Reads the options within a sentence: starting, until and except."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tickwork.schedule.english.describe import clock_text
from tickwork.schedule.english.parse_moment import DATE, iso_date, read_full_date
from tickwork.schedule.english.parse_time_and_zone import read_time
from tickwork.schedule.english.tokenizer import Cursor
from tickwork.schedule.english.vocabulary import (
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


class SentenceOptions(NamedTuple):
    start: str | None = None  # ISO 8601, local
    end: str | None = None
    times: tuple[
        tuple[str, str], ...
    ] = ()  # times of day given with the start and the end: (starting, 09:00)
    exclude: Mapping[str, Any] = {}
    weekdays: frozenset[int] = frozenset()  # left out
    months: frozenset[int] = frozenset()  # left out


def extract_options(cursor: Cursor) -> SentenceOptions:
    """Read the options and remove them from the sentence, wherever they are."""
    options, at = SentenceOptions(), 0
    while at < len(cursor.words):
        cursor.at = at
        found = _read_option(cursor, options)
        if found is None:
            at += 1
            continue
        options = found
        _check_ends(cursor)
        end = cursor.at
        start = at - 1 if at and cursor.words[at - 1] == "," else at
        if cursor.words[end : end + 1] == [","]:
            end += 1
        cursor.remove(start, end)
        at = start
    cursor.at = 0
    return options


def _check_ends(cursor: Cursor) -> None:
    """Only a time or another phrase may follow an option: "except mondays in august" would mean other days."""
    word = cursor.word
    if word in ("and", "or"):
        raise ScheduleError(
            f'what follows "{word}", is it limited too?', "give each schedule by itself, joined with any"
        )
    if (not cursor.done and word in ("in", "of", "on", "the")) or word in WEEKDAYS or word in MONTHS:
        cursor.fail("a time of day, or the end")


def _read_option(cursor: Cursor, options: SentenceOptions) -> SentenceOptions | None:
    before = cursor.at
    for leads, read in _READERS:
        for lead in sorted(leads, key=len, reverse=True):
            if cursor.take(*lead.split()):
                found = read(cursor, options, lead)
                if found is not None:
                    return found
                cursor.at = before
    return None


def _read_start(cursor: Cursor, options: SentenceOptions, lead: str) -> SentenceOptions | None:
    cursor.take("on")
    stamp = _read_stamp(cursor)
    if stamp is None:
        if lead in ("from", "as of"):
            return None
        cursor.fail("a date such as 2026-12-24")
    if options.start:
        raise ScheduleError("start is given twice")
    return options._replace(
        start=" ".join(filter(None, stamp)), times=_with_time(options, "starting", stamp[1])
    )


def _read_end(cursor: Cursor, options: SentenceOptions, lead: str) -> SentenceOptions | None:
    cursor.take("on")
    stamp = _read_stamp(cursor)
    if stamp is None:
        return None if lead in RANGE_WORDS else cursor.fail("a date such as 2026-12-24")
    if options.end:
        raise ScheduleError("end is given twice")
    return options._replace(end=" ".join(filter(None, stamp)), times=_with_time(options, "until", stamp[1]))


def _with_time(options: SentenceOptions, lead: str, time: str) -> tuple[tuple[str, str], ...]:
    return (*options.times, (lead, time)) if time else options.times


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


def _read_except(cursor: Cursor, options: SentenceOptions, _: str) -> SentenceOptions:
    exclude = dict(options.exclude)
    weekdays, months = set(options.weekdays), set(options.months)
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
    return options._replace(exclude=exclude, weekdays=frozenset(weekdays), months=frozenset(months))


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


_READERS: tuple[
    tuple[frozenset[str], Callable[[Cursor, SentenceOptions, str], SentenceOptions | None]], ...
] = (
    (_START, _read_start),
    (_END, _read_end),
    (_EXCEPT, _read_except),
)
