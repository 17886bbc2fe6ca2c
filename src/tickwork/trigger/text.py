"""Words: a small grammar that names the word it did not understand instead of guessing."""

import re
from datetime import datetime
from typing import Any, NamedTuple

from tickwork.trigger.calendar import check_country
from tickwork.trigger.cron import Cron
from tickwork.trigger.due.zone import Zone, zone_named, zone_names
from tickwork.trigger.english.clause import Clause
from tickwork.trigger.english.cursor import Cursor
from tickwork.trigger.english.moment import DATE, is_moment, read_date, read_moment
from tickwork.trigger.english.phrase import read_phrase
from tickwork.trigger.misread import Misread

_COUNTRY = re.compile(r"[a-z]{2}(?:-[a-z0-9]+)?")


class Sentence(NamedTuple):
    """What a text amounts to: one instant, or schedules to be joined with the options they share."""

    zone: Zone | None
    at: datetime | None
    schedules: list[int | Cron | str]
    options: dict[str, Any]


def read_text(text: str, zone: Zone, now: datetime) -> Sentence:
    cursor = Cursor(text)
    own = _take_zone(cursor)
    if cursor.done:
        cursor.fail("a schedule")
    options = _take_options(cursor)
    if not options and is_moment(cursor):
        return Sentence(own, read_moment(cursor, own or zone, now), [], {})
    schedules = [schedule for clause in _read_clauses(cursor) for schedule in clause.compile()]
    return Sentence(own, None, schedules, options)


def _read_clauses(cursor: Cursor) -> list[Clause]:
    clauses = [Clause()]
    while not cursor.done:
        if read_phrase(cursor, clauses[-1]):
            continue
        if clauses[-1].empty or not cursor.take_one_of(("and", ",")):
            cursor.fail()
        cursor.take("and")
        clauses.append(Clause(recurs=clauses[-1].recurs))
    _check(clauses)
    return clauses


def _check(clauses: list[Clause]) -> None:
    if not clauses[0].recurs:
        raise Misread(
            "once, or every time?",
            'say "every …", or give the date: "tomorrow", "next monday", "24 december 2026"',
        )
    if len(clauses) > 1 and not all(clause.times or clause.several_a_day for clause in clauses):
        raise Misread('each schedule joined with "and" needs its own time of day')


def _take_zone(cursor: Cursor) -> Zone | None:
    """Remove the name of a time zone, with the "in" before it, from the sentence."""
    for at, word in enumerate(cursor.words):
        if "/" in word or word == "utc":
            names = {name.lower(): name for name in zone_names()}
            zone = zone_named(names.get(word, cursor.written[at]))
            cursor.remove(at - 1 if at and cursor.words[at - 1] == "in" else at, at + 1)
            return zone
    return None


def _take_options(cursor: Cursor) -> dict[str, Any]:
    """Remove "starting …", "until …" and "except …", which stand at the end of the sentence."""
    options: dict[str, Any] = {}
    starts = [at for at, word in enumerate(cursor.words) if word in _OPTIONS and _is_option(cursor, at)]
    for at in reversed(starts):
        read = _OPTIONS[cursor.words[at]]
        tail = cursor.remove(at, len(cursor.words))
        tail.at = 1
        if cursor.words[-1:] == [","]:
            cursor.remove(at - 1, at)
        key, value = read(tail)
        if key in options:
            raise Misread(f"{key} is given twice")
        options[key] = value
    return options


def _is_option(cursor: Cursor, at: int) -> bool:
    following = cursor.words[at + 1] if at + 1 < len(cursor.words) else ""
    return cursor.words[at] in ("except", "starting") or bool(DATE.match(following))


def _read_start(tail: Cursor) -> tuple[str, str]:
    tail.take("on")
    return "start", _read_stamp(tail)


def _read_until(tail: Cursor) -> tuple[str, str]:
    return "end", _read_stamp(tail)


def _read_stamp(tail: Cursor) -> str:
    """A date and perhaps a time, in ISO 8601."""
    if not DATE.match(tail.word):
        tail.fail("a date such as 2026-12-24")
    stamp = " ".join(tail.written[tail.at : tail.at + 2])
    tail.at += 2
    if not tail.done:
        tail.fail()
    return stamp


def _read_except(tail: Cursor) -> tuple[str, dict[str, Any]]:
    exclude: dict[str, Any] = {}
    while not (tail.done and exclude):
        tail.take("on")
        if tail.take_one_of(("weekends", "weekend")):
            exclude["weekends"] = True
        elif dates := tail.take_list(lambda: _read_date(tail)):
            exclude["dates"] = sorted({*exclude.get("dates", ()), *dates})
        elif countries := _read_holidays(tail):
            exclude["holidays"] = sorted({*exclude.get("holidays", ()), *countries})
        else:
            tail.fail("weekends, dates or holidays of a country")
        if not tail.done and not tail.take_one_of((",", "and")):
            tail.fail()
    return "exclude", exclude


def _read_date(tail: Cursor) -> str | None:
    if not DATE.fullmatch(tail.word):
        return None
    tail.at += 1
    return read_date(*map(int, tail.words[tail.at - 1].split("-"))).isoformat()


def _read_holidays(tail: Cursor) -> list[str]:
    """Holidays in FR and DE-BY; FR holidays."""
    before = tail.take("holidays", "in")
    countries = tail.take_list(lambda: _read_country(tail))
    if not before and not tail.take("holidays"):
        return []
    return countries


def _read_country(tail: Cursor) -> str | None:
    if not _COUNTRY.fullmatch(tail.word):
        return None
    tail.at += 1
    return check_country(tail.written[tail.at - 1].upper())


_OPTIONS = {
    "starting": _read_start,
    "from": _read_start,
    "until": _read_until,
    "till": _read_until,
    "except": _read_except,
}
