"""Which days: mondays, Mon-Fri, the 1st and 15th, the last weekday of the quarter, december 24."""

from collections.abc import Container

from tickwork.schedule.cron.field import YEAR
from tickwork.schedule.english.compile_clause import Clause
from tickwork.schedule.english.parse_time_and_zone import PART_NAMES
from tickwork.schedule.english.tokenizer import Cursor
from tickwork.schedule.english.vocabulary import (
    LAST,
    MONTHS,
    RANGE_WORDS,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    WORKDAY_NAMES,
    number_of,
    ordinal_of,
    weekdays_from,
)
from tickwork.schedule.errors import ScheduleError

_FIRST_YEAR = 2000
_LONGEST_MONTH, _MOST_IN_MONTH, _MONTHS = 31, 5, 12


def add_days(cursor: Cursor, clause: Clause) -> bool:
    """Weekdays, days of the month, or a day of the year; False when none comes next."""
    before = cursor.at
    cursor.take("the")
    if ordinal_of(cursor.word) is not None:
        add_ordinals(cursor, clause)
    elif cursor.word in WEEKDAYS or cursor.word in WEEKDAY_GROUPS:
        add_weekdays(cursor, clause)
    elif cursor.word in MONTHS:
        add_months(cursor, clause)
    elif not _add_numbers(cursor, clause):
        cursor.at = before
        return False
    return True


def add_weekdays(cursor: Cursor, clause: Clause, *, more: bool = False) -> None:
    _check_is_new(cursor, clause.weekdays and not more)
    for days in cursor.take_list(lambda: _weekdays(cursor, clause)):
        clause.weekdays += days
    if cursor.before == "weekend":
        cursor.take_one_of(("day", "days"))
    if cursor.word in PART_NAMES:
        _check_is_new(cursor, clause.part)
        clause.recurs |= cursor.word.endswith("s")
        clause.part = PART_NAMES[cursor.word]
        cursor.at += 1
    elif cursor.word == "the" and cursor.following[:1].isdigit() and ordinal_of(cursor.following):
        cursor.at += 1
        _add_dates(clause, [_ordinal(cursor) or 0])
        clause.both = True  # friday the 13th


def _check_is_new(cursor: Cursor, given: object) -> None:
    """Refuses days of one kind in two places of a sentence, which may mean both or either."""
    if given:
        cursor.fail('"and" before it, or only one of its kind')


def _weekdays(cursor: Cursor, clause: Clause) -> tuple[int, ...] | None:
    word = cursor.take_one_of(WEEKDAYS.keys() | WEEKDAY_GROUPS.keys())
    if word is None:
        return None
    clause.recurs |= word.endswith(("days", "ends"))
    if word in WEEKDAY_GROUPS:
        clause.workday_words |= word in WORKDAY_NAMES
        return WEEKDAY_GROUPS[word]
    if is_weekday_range(cursor, -1):
        clause.recurs = True
        first, last = WEEKDAYS[word], WEEKDAYS[cursor.following]
        cursor.at += 2
        return weekdays_from(first, last)
    return (WEEKDAYS[word],)


def add_ordinals(cursor: Cursor, clause: Clause) -> None:
    """The 1st and 15th; the first monday and the third friday; the last day; … of the month."""
    _check_is_new(cursor, clause.dates or clause.nth_weekdays or clause.workdays)
    cursor.take_list(lambda: _ordinal_group(cursor, clause))
    if cursor.word == "of":
        _of(cursor, clause)


def _ordinal_group(cursor: Cursor, clause: Clause) -> bool | None:
    """All of the ordinals go with all of the weekdays after them, as in 2nd, third mon, wed."""
    ordinals = [n for part in cursor.take_list(lambda: _ordinals(cursor)) for n in part]
    if not ordinals:
        return None
    if cursor.word == "last":
        cursor.fail("a day or a weekday")
    weekdays = cursor.take_list(lambda: cursor.take_one_of(WEEKDAYS))
    if weekdays:
        clause.nth_weekdays += [(_up_to_five(n), WEEKDAYS[day]) for day in weekdays for n in ordinals]
    elif word := cursor.take_one_of(("weekday", "workday")):
        if not set(ordinals) <= {1, LAST}:
            raise ScheduleError(
                f"only the first or the last {word} of a month can be named",
                f'such as "first {word} of the month at 9am"',
            )
        clause.workday_words |= word == "workday"
        clause.workdays += ordinals
    else:
        named = cursor.take_one_of(("day",) if len(ordinals) == 1 else ("day", "days"))
        if LAST in ordinals and not named and cursor.word != "of" and cursor.word not in MONTHS:
            cursor.fail("a day, weekday or month")
        _add_dates(clause, ordinals)
    return True


def _ordinals(cursor: Cursor) -> list[int] | None:
    first = _ordinal(cursor)
    if first is None:
        return None
    before = cursor.at
    if first != LAST and cursor.take_one_of(RANGE_WORDS):
        last = _ordinal(cursor)
        if last is not None and last > first:
            return list(range(first, last + 1))
        cursor.at = before
    return [first]


def _ordinal(cursor: Cursor) -> int | None:
    before = cursor.at
    cursor.take("on")
    cursor.take("the")
    ordinal = ordinal_of(cursor.word)
    cursor.at = cursor.at + 1 if ordinal is not None else before
    return ordinal


def _up_to_five(ordinal: int) -> int:
    if ordinal > _MOST_IN_MONTH:
        raise ScheduleError(
            f"no month has a weekday {ordinal} times", 'such as "first monday of the month at 9am"'
        )
    return ordinal


def _add_numbers(cursor: Cursor, clause: Clause) -> bool:
    """24 december; 1 and 15 of june; day 15."""
    before, named = cursor.at, cursor.take_one_of(("day", "days"))
    numbers = cursor.take_list(lambda: _number(cursor))
    if numbers and not clause.dates and (named or cursor.word in MONTHS or cursor.word == "of"):
        _add_dates(clause, numbers)
        if cursor.word in MONTHS:
            add_months(cursor, clause)
        elif cursor.word == "of":
            _of(cursor, clause)
        return True
    cursor.at = before
    return False


def _number(cursor: Cursor) -> int | None:
    number = number_of(cursor.word)
    cursor.at += number is not None
    return number


def _add_dates(clause: Clause, dates: list[int]) -> None:
    for date in dates:
        if date != LAST and not 1 <= date <= _LONGEST_MONTH:
            raise ScheduleError(f"no month has a day {date}")
    clause.dates += dates


def _of(cursor: Cursor, clause: Clause) -> None:
    cursor.at += 1
    every = cursor.take_one_of(("the", "every", "each"))
    if cursor.word in MONTHS:
        clause.recurs |= every in ("every", "each")
        add_months(cursor, clause)
    elif unit := cursor.take_one_of(("month", "quarter", "year")):
        clause.recurs = True
        clause.span = unit
    else:
        cursor.fail("a month, quarter or year")


def add_months(cursor: Cursor, clause: Clause) -> None:
    """June; june and december; june to august; december 24."""
    _check_is_new(cursor, clause.months)
    for months in cursor.take_list(lambda: _months(cursor)):
        clause.months += months
    if add_years(cursor, clause) or clause.dates or len(clause.months) != 1:
        return
    _add_dates(clause, cursor.take_list(lambda: _ordinal(cursor) or _number(cursor)))


def add_years(cursor: Cursor, clause: Clause) -> bool:
    years = cursor.take_list(lambda: _number(cursor) if is_year(cursor.word) else None)
    clause.years += years
    return bool(years)


def is_year(word: str) -> bool:
    return number_of(word) in range(_FIRST_YEAR, YEAR.high + 1) and len(word) == len("2026")


def _months(cursor: Cursor) -> list[int] | None:
    word = cursor.take_one_of(MONTHS)
    if word is None:
        return None
    if not is_month_range(cursor, -1):
        return [MONTHS[word]]
    first, last = MONTHS[word], MONTHS[cursor.following]
    cursor.at += 2
    return [(first + n - 1) % _MONTHS + 1 for n in range((last - first) % _MONTHS + 1)]


def is_month_range(cursor: Cursor, start: int) -> bool:
    """Whether the words from there on are june to august."""
    return _is_range(cursor, start, MONTHS)


def is_weekday_range(cursor: Cursor, start: int) -> bool:
    return _is_range(cursor, start, WEEKDAYS)


def _is_range(cursor: Cursor, start: int, names: Container[str]) -> bool:
    words = [cursor.ahead(start + n) if start + n >= 0 else cursor.before for n in range(3)]
    return words[0] in names and words[1] in RANGE_WORDS and words[2] in names
