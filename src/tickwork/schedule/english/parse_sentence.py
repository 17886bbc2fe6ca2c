"""Parses a schedule in English. The grammar is small: it names a word that it does not know and never guesses.

A sentence is one instant, or clauses joined with "and". Each phrase of a clause adds facts to the clause.
"""

import re
from datetime import datetime
from typing import Any, NamedTuple

from tickwork.schedule.cron.read_expression import Cron
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.english.compile_clause import Clause
from tickwork.schedule.english.describe import clock_text
from tickwork.schedule.english.parse_days import (
    add_days,
    add_months,
    add_weekdays,
    add_years,
    is_month_range,
    is_weekday_range,
    is_year,
)
from tickwork.schedule.english.parse_frequency import (
    add_adverb,
    add_every,
    add_times_per_period,
    apply_default_day,
    read_amounts,
    reject_ambiguous_adverb,
)
from tickwork.schedule.english.parse_moment import is_single_moment, read_moment
from tickwork.schedule.english.parse_start_end_except import SentenceOptions, extract_options
from tickwork.schedule.english.parse_time_and_zone import (
    PARTS_OF_DAY,
    Clock,
    extract_zone,
    read_part_of_day,
    read_time,
    read_times,
    read_window,
    reject_city,
    time_in_part_of_day,
)
from tickwork.schedule.english.tokenizer import Cursor
from tickwork.schedule.english.vocabulary import FREQUENCY_ADVERBS, MONTHS, WEEKDAYS, number_of
from tickwork.schedule.errors import ScheduleError

_EARLY = 6 * 3600  # the end of a night
_LEAD = re.compile(r"(?:on\s+)?(?:the\s+)?", re.IGNORECASE)
_ONCE_OR_EVERY = "once, or every time?"


class Sentence(NamedTuple):
    """What a text means: one instant, or one or more schedules with the options that they share."""

    zone: Zone | None
    at: datetime | None
    schedules: list[int | Cron | str]
    options: dict[str, Any]
    notes: tuple[str, ...]
    counted_from_start: bool = False


def read_sentence(text: str, zone: Zone, now: datetime) -> Sentence:
    try:
        return _read(text, zone, now)
    except ScheduleError as error:
        if error.message != _ONCE_OR_EVERY:
            raise
        raise ScheduleError(_ONCE_OR_EVERY, _suggest_clearer(text, zone, now)) from error


def _read(text: str, zone: Zone, now: datetime) -> Sentence:
    cursor = Cursor(text)
    own = extract_zone(cursor)
    if cursor.done:
        cursor.fail("a schedule")
    options = extract_options(cursor)
    if options == SentenceOptions() and is_single_moment(cursor):
        at = read_moment(cursor, own or zone, now)
        return Sentence(own, at, [], {}, tuple(cursor.notes))
    clauses = _read_clauses(cursor, options)
    schedules = [schedule for clause in clauses for schedule in clause.compile()]
    counted = any(clause.counts_from_a_day for clause in clauses)
    named = {"start": options.start, "end": options.end, "exclude": options.exclude}
    given = {name: value for name, value in named.items() if value}
    return Sentence(own, None, schedules, given, tuple(cursor.notes), counted)


def _read_clauses(cursor: Cursor, options: SentenceOptions) -> list[Clause]:
    if read_amounts(cursor) and cursor.done:
        raise ScheduleError(_ONCE_OR_EVERY)
    cursor.at = 0
    clauses = [Clause()]
    while not cursor.done:
        if read_phrase(cursor, clauses[-1]):
            continue
        reject_city(cursor)
        if _continues_clause(cursor, clauses[-1]):
            continue
        if clauses[-1].empty or not cursor.take_one_of(("and", ",")):
            cursor.fail()
        cursor.take("and")
        clauses.append(Clause(recurs=clauses[-1].recurs))
    for clause in clauses:
        _apply_defaults(cursor, clause, options)
    _check(cursor, clauses, options)
    for clause in clauses:
        clause.leave_out(set(options.weekdays), set(options.months))
    return clauses


def _continues_clause(cursor: Cursor, clause: Clause) -> bool:
    """Whether the next words continue the clause: "every monday and every friday at 9", "every day, at 9am"."""
    days_only = Clause(recurs=clause.recurs, weekdays=clause.weekdays, workday_words=clause.workday_words)
    joined = clause == days_only and clause.weekdays and cursor.ahead(2) in WEEKDAYS
    if joined and (cursor.take("and", "every") or cursor.take("and", "each")):
        add_weekdays(cursor, clause, more=True)
        return True
    times_only = clause == Clause(times=clause.times)
    if cursor.word != "," or not (times_only or (not clause.timed and is_time(cursor, 1))):
        return False
    return cursor.take(",")


def _apply_defaults(cursor: Cursor, clause: Clause, options: SentenceOptions) -> None:
    """Choose a value for what the words leave open, and add a note about the choice."""
    apply_default_day(cursor, clause)
    if clause.workday_words and "holidays" not in options.exclude:
        cursor.note('public holidays are not left out; add "except holidays in FR" to do so')
    if clause.part:
        clause.times = _times_in_part(cursor, clause, clause.part)
    if clause.names_days and any(time.midnight for time in clause.times):
        cursor.note('"midnight" is read as 00:00, the beginning of the day')


def _times_in_part(cursor: Cursor, clause: Clause, part: str) -> list[Clock]:
    if clause.several_a_day:
        return clause.times
    if not clause.times:
        usual = PARTS_OF_DAY[part].usual * 3600
        cursor.note(f'"{part}" is read as {clock_text(usual)}; say the time to choose another')
        return [Clock(usual)]
    times = [time_in_part_of_day(time, part) for time in clause.times]
    if part == "night" and clause.names_days and any(time.second < _EARLY for time in times):
        raise ScheduleError(
            "which night, before or after that day?",
            'say the day whose hour it is: "every tuesday at 2am"',
        )
    return times


def _check(cursor: Cursor, clauses: list[Clause], options: SentenceOptions) -> None:
    first = clauses[0]
    if not first.recurs:
        days = len(first.dates) + len(first.nth_weekdays) + len(first.workdays)
        if len(first.months) * days <= 1:
            raise ScheduleError(_ONCE_OR_EVERY)
        cursor.note("this is read as every year")
    for clause in clauses:
        if clause.part and not (clause.rate or clause.names_days):
            clause.every_day()
    if len(clauses) > 1 and not all(clause.timed for clause in clauses):
        raise ScheduleError(
            'each schedule joined with "and" needs its own time of day',
            'such as "every monday at 9am and every friday at 5pm"',
        )
    for lead, time in options.times:
        if not all(clause.timed for clause in clauses):
            raise ScheduleError(
                f'{time} after "{lead}": is it the time of the limit, or of every day?',
                f'say "every day at {time} {lead} 2026-12-31"',
            )


def _suggest_clearer(text: str, zone: Zone, now: datetime) -> str:
    """Suggests clear ways to write the text, once and recurring."""
    plain = _LEAD.sub("", text.strip(), count=1)
    found = []
    for ways in (
        (f"every {plain}", f"every month on {plain}", f"every day {plain}"),
        (f"next {plain}", f"tomorrow {plain}", f"in {plain}"),
    ):
        for way in ways:
            try:
                _read(way, zone, now)
            except ScheduleError:
                continue
            found.append(f'"{way}"')
            break
    return f"say {' or '.join(found)}" if found else 'such as "every day at 9am" or "tomorrow at 9am"'


def read_phrase(cursor: Cursor, clause: Clause) -> bool:
    """Read the next phrase; False when there is none that is known."""
    reject_ambiguous_adverb(cursor.word)
    if cursor.take_one_of(("every", "each")):
        add_every(cursor, clause)
    elif cursor.take_one_of(FREQUENCY_ADVERBS):
        add_adverb(cursor, clause)
    elif not clause.part and cursor.take("nightly"):
        clause.recurs, clause.part = True, "night"
    elif add_times_per_period(cursor, clause):
        pass
    elif part := read_part_of_day(cursor):
        _add_part(cursor, clause, part)
    elif cursor.take("at"):
        _at(cursor, clause)
    elif cursor.word in ("between", "from") and is_time(cursor, 1, loose=True):
        cursor.at += 1
        _add_window(clause, read_window(cursor, loose=True))
    elif cursor.take("on", "the", "hour"):
        clause.minutes = [0]
    elif cursor.take("synchronized"):
        clause.aligned = True
    else:
        return _add_days_or_time(cursor, clause)
    return True


def _add_days_or_time(cursor: Cursor, clause: Clause) -> bool:
    if cursor.take("on"):
        if not add_days(cursor, clause):
            cursor.fail("a day")
    elif cursor.word in ("in", "of", "during") and (cursor.following in MONTHS or is_year(cursor.following)):
        cursor.at += 1
        if not add_years(cursor, clause):
            add_months(cursor, clause)
    elif cursor.word == "from" and (is_weekday_range(cursor, 1) or is_month_range(cursor, 1)):
        cursor.at += 1
        add_days(cursor, clause)
    elif window := read_window(cursor, loose=False):
        _add_window(clause, window)
    elif is_time(cursor, 0):
        _check_is_first(cursor, clause)
        clause.times = read_times(cursor, loose=False)
    else:
        return add_days(cursor, clause)
    return True


def is_time(cursor: Cursor, ahead: int, *, loose: bool = False) -> bool:
    """Whether "at" or a time of day comes `ahead` words after the current one."""
    before = cursor.at
    cursor.at += ahead
    found = not cursor.done and (cursor.word == "at" or read_time(cursor, loose=loose) is not None)
    cursor.at = before
    return found


def _add_part(cursor: Cursor, clause: Clause, part: str) -> None:
    if clause.part:
        cursor.at -= 1
        cursor.fail("one part of the day")
    clause.recurs |= cursor.before.endswith("s")
    clause.part = part


def _at(cursor: Cursor, clause: Clause) -> None:
    cursor.at -= 1
    _check_is_first(cursor, clause)
    cursor.at += 1
    if cursor.take_one_of(("minute", "minutes")):
        clause.minutes = cursor.take_list(lambda: _minute(cursor, cursor.word))
    elif cursor.word.startswith(":"):
        clause.minutes = cursor.take_list(lambda: _minute(cursor, cursor.word.removeprefix(":")))
    else:
        clause.times = read_times(cursor, loose=True)
    if not (clause.times or clause.minutes):
        cursor.fail("a time of day")


def _check_is_first(cursor: Cursor, clause: Clause) -> None:
    if clause.times or clause.minutes:
        cursor.fail("only one time of day, or several joined with and")


def _minute(cursor: Cursor, word: str) -> int | None:
    minute = number_of(word)
    if minute is None or minute >= 60:  # noqa: PLR2004 (minutes in an hour)
        return None
    cursor.at += 1
    return minute


def _add_window(clause: Clause, window: tuple[int, int] | None) -> None:
    if clause.window:
        raise ScheduleError(
            "one window of time at a time",
            'such as "every hour between 9am and noon and every hour between 2pm and 6pm"',
        )
    clause.window = window
