"""The phrases of a sentence about repeated times. Each reads some words and adds a fact to the clause."""

from tickwork.schedule.english.clause import Clause
from tickwork.schedule.english.cursor import Cursor
from tickwork.schedule.english.parse_days import (
    add_days,
    add_months,
    add_years,
    is_month_range,
    is_weekday_range,
    is_year,
)
from tickwork.schedule.english.parse_frequency import (
    add_adverb,
    add_every,
    add_times_per_period,
    reject_ambiguous_adverb,
)
from tickwork.schedule.english.parse_time_of_day import (
    PART_NAMES,
    read_part_of_day,
    read_time,
    read_times,
    read_window,
)
from tickwork.schedule.english.words import FREQUENCY_ADVERBS, MONTHS, WEEKDAY_GROUPS, WEEKDAYS, number_of
from tickwork.schedule.errors import ScheduleError


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


RECURRING_WORDS = {"every", "each", *FREQUENCY_ADVERBS, "nightly"} | {
    word
    for word in (*WEEKDAYS, *WEEKDAY_GROUPS, *PART_NAMES)
    if word.endswith("s") and len(word) > 4  # noqa: PLR2004
}
