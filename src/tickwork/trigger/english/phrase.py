"""The phrases of a sentence about repeated times. Each reads some words and adds a fact to the clause."""

from tickwork.trigger.english.clause import Clause
from tickwork.trigger.english.cursor import Cursor
from tickwork.trigger.english.lexicon import (
    LAST,
    MONTHS,
    RATES,
    SECONDS,
    WEEKDAY_GROUPS,
    WEEKDAYS,
    Amount,
    compact_amounts,
    number_of,
    ordinal_of,
    time_of,
    unit_of,
)
from tickwork.trigger.misread import Misread

_LONGEST_MONTH = 31


def read_phrase(cursor: Cursor, clause: Clause) -> bool:
    """Read the next phrase; False when there is none that is known."""
    if cursor.take_one_of(("every", "each")):
        _every(cursor, clause)
    elif rate := cursor.take_one_of(RATES):
        clause.recurs = True
        _add_rate(clause, Amount(1, RATES[rate]))
    elif cursor.take("at"):
        _at(cursor, clause)
    elif cursor.word in ("between", "from") and time_of(cursor.following) is not None:
        _window(cursor, clause)
    elif cursor.take("on"):
        _on(cursor, clause)
    elif cursor.word in ("in", "of") and cursor.following in MONTHS:
        cursor.at += 1
        _months(cursor, clause)
    else:
        return _on_days(cursor, clause)
    return True


def read_amounts(cursor: Cursor) -> list[Amount]:
    """5 minutes; 1 hour and 30 minutes; 1h30m. Empty when there is none."""
    compact = compact_amounts(cursor.word)
    if compact:
        cursor.at += 1
        return compact
    return cursor.take_list(lambda: _amount(cursor))


def read_time(cursor: Cursor) -> int | None:
    following = cursor.following if cursor.following in ("am", "pm") else ""
    time = time_of(cursor.word, following)
    if time is not None:
        cursor.at += 2 if following else 1
    return time


def _amount(cursor: Cursor) -> Amount | None:
    count, unit = number_of(cursor.word), unit_of(cursor.following)
    if count is None or unit is None:
        return None
    cursor.at += 2
    return Amount(count, unit)


def _every(cursor: Cursor, clause: Clause) -> None:
    clause.recurs = True
    if cursor.take("other"):
        _every_other(cursor, clause)
    elif _counts_days(cursor):
        _check_is_clear(cursor)
        _ordinals(cursor, clause)
    elif amounts := read_amounts(cursor):
        _add_rate(clause, _total(amounts))
    elif unit := (unit_of(cursor.word) if cursor.word else None):
        cursor.at += 1
        _add_rate(clause, Amount(1, unit))
    elif not _on_days(cursor, clause):
        cursor.fail("a unit of time or a day")


def _counts_days(cursor: Cursor) -> bool:
    day = cursor.following in WEEKDAYS or unit_of(cursor.following) is not None
    return day and ordinal_of(cursor.word) is not None


def _check_is_clear(cursor: Cursor) -> None:
    """Every second friday: of the month, or every other one?"""
    of = cursor.words[cursor.at + 2 : cursor.at + 3] == ["of"]
    if not of and ordinal_of(cursor.word) not in (1, LAST):
        raise Misread(
            f'"every {cursor.word} {cursor.following}" has two meanings',
            f'say "every other {cursor.following}" or "the 2nd {cursor.following} of every month"',
        )


def _every_other(cursor: Cursor, clause: Clause) -> None:
    unit = unit_of(cursor.word)
    if unit:
        cursor.at += 1
        _add_rate(clause, Amount(2, unit))
    elif cursor.word in WEEKDAYS:
        _add_rate(clause, Amount(2, "week"))
        _weekdays(cursor, clause)
    else:
        cursor.fail("a unit of time or a weekday")


def _total(amounts: list[Amount]) -> Amount:
    if len(amounts) == 1:
        return amounts[0]
    if any(amount.unit not in SECONDS for amount in amounts):
        raise Misread("months and years do not add up with other units")
    return Amount(sum(amount.number * SECONDS[amount.unit] for amount in amounts), "second")


def _add_rate(clause: Clause, rate: Amount) -> None:
    if clause.rate:
        raise Misread(f'"every {clause.rate.unit}" and "every {rate.unit}": which of them?')
    if rate.number < 1:
        raise Misread("a period is at least 1")
    clause.rate = rate


def _at(cursor: Cursor, clause: Clause) -> None:
    if clause.times or clause.minutes:
        cursor.at -= 1
        cursor.fail("only one at")
    if cursor.take_one_of(("minute", "minutes")):
        clause.minutes = cursor.take_list(lambda: _minute(cursor, cursor.word))
    elif cursor.word.startswith(":"):
        clause.minutes = cursor.take_list(lambda: _minute(cursor, cursor.word.removeprefix(":")))
    else:
        clause.times = cursor.take_list(lambda: read_time(cursor))
    if not (clause.times or clause.minutes):
        cursor.fail("a time of day")


def _minute(cursor: Cursor, word: str) -> int | None:
    minute = number_of(word)
    if minute is None or minute >= 60:  # noqa: PLR2004 (minutes in an hour)
        return None
    cursor.at += 1
    return minute


def _window(cursor: Cursor, clause: Clause) -> None:
    cursor.at += 1
    start = read_time(cursor)
    if not cursor.take_one_of(("and", "to", "until", "till", "-")):
        cursor.fail('"and" or "to"')
    end = None if cursor.done else read_time(cursor)
    if start is None or end is None:
        cursor.fail("a time of day")
    if clause.window:
        raise Misread("one window of time at a time", "join two sentences with and")
    clause.window = start, end


def _on(cursor: Cursor, clause: Clause) -> None:
    if not _on_days(cursor, clause):
        cursor.fail("a day")


def _on_days(cursor: Cursor, clause: Clause) -> bool:
    """Weekdays, days of the month, or a day of the year; False when none comes next."""
    before = cursor.at
    cursor.take("the")
    if ordinal_of(cursor.word) is not None:
        _ordinals(cursor, clause)
    elif cursor.word in WEEKDAYS or cursor.word in WEEKDAY_GROUPS:
        _weekdays(cursor, clause)
    elif cursor.word in MONTHS:
        _months(cursor, clause)
    elif number_of(cursor.word) is not None and cursor.following in MONTHS:
        _add_dates(clause, [number_of(cursor.word) or 0])
        cursor.at += 1
        _months(cursor, clause)
    else:
        cursor.at = before
        return False
    return True


def _weekdays(cursor: Cursor, clause: Clause) -> None:
    for days in cursor.take_list(lambda: _weekday(cursor, clause)):
        clause.weekdays += days
    cursor.take("days")
    cursor.take("day")


def _weekday(cursor: Cursor, clause: Clause) -> tuple[int, ...] | None:
    word = cursor.take_one_of(WEEKDAYS.keys() | WEEKDAY_GROUPS.keys())
    if word is None:
        return None
    clause.recurs |= word.endswith(("days", "ends"))
    return WEEKDAY_GROUPS[word] if word in WEEKDAY_GROUPS else (WEEKDAYS[word],)


def _ordinals(cursor: Cursor, clause: Clause) -> None:
    """The 1st and 15th; the first monday; the last day; the last weekday; … of the month."""
    ordinals = cursor.take_list(lambda: _ordinal(cursor))
    if cursor.word in WEEKDAYS:
        weekday = WEEKDAYS[cursor.word]
        cursor.at += 1
        clause.nth_weekdays += [(_up_to_five(ordinal), weekday) for ordinal in ordinals]
    elif cursor.take_one_of(("weekday", "workday")):
        if not set(ordinals) <= {1, LAST}:
            raise Misread("only the first or the last weekday of a month can be named")
        clause.workdays += ordinals
    else:
        cursor.take("day")
        _add_dates(clause, ordinals)
    if cursor.word == "of":
        _of(cursor, clause)


def _ordinal(cursor: Cursor) -> int | None:
    cursor.take("the")
    ordinal = ordinal_of(cursor.word)
    if ordinal is not None:
        cursor.at += 1
    return ordinal


def _up_to_five(ordinal: int) -> int:
    if ordinal > 5:  # noqa: PLR2004 (weeks in a month)
        raise Misread(f"no month has a weekday {ordinal} times")
    return ordinal


def _add_dates(clause: Clause, dates: list[int]) -> None:
    for date in dates:
        if date != LAST and not 1 <= date <= _LONGEST_MONTH:
            raise Misread(f"no month has a day {date}")
    clause.dates += dates


def _of(cursor: Cursor, clause: Clause) -> None:
    cursor.at += 1
    every = cursor.take_one_of(("the", "every", "each"))
    if cursor.word in MONTHS:
        clause.recurs |= every in ("every", "each")
        _months(cursor, clause)
    elif unit := cursor.take_one_of(("month", "quarter")):
        clause.recurs = True
        if unit == "quarter":
            _add_rate(clause, Amount(1, unit))
    else:
        cursor.fail("a month")


def _months(cursor: Cursor, clause: Clause) -> None:
    """June; june and december; december 24."""
    clause.months += [MONTHS[word] for word in cursor.take_list(lambda: cursor.take_one_of(MONTHS))]
    day = ordinal_of(cursor.word) or number_of(cursor.word)
    if day is not None and not clause.dates and len(clause.months) == 1:
        cursor.at += 1
        _add_dates(clause, [day])
