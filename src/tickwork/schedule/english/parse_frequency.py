"""Reads lengths of time and how often: every 5 minutes, an hour and a half, every other friday, monthly."""

import re

from tickwork.schedule.english.compile_clause import Clause
from tickwork.schedule.english.describe import ordinal
from tickwork.schedule.english.parse_days import add_days, add_ordinals, add_weekdays
from tickwork.schedule.english.parse_time_and_zone import NAMED_TIMES, PART_NAMES
from tickwork.schedule.english.tokenizer import Cursor
from tickwork.schedule.english.vocabulary import (
    AMBIGUOUS_ADVERBS,
    ARTICLES,
    FREQUENCY_ADVERBS,
    LAST,
    MONTHS,
    SECONDS,
    SUB_DAY_UNITS,
    UNITS,
    WEEKDAYS,
    Amount,
    compact_amounts,
    fraction_of,
    number_of,
    ordinal_of,
    unit_of,
)
from tickwork.schedule.errors import ScheduleError

_PARTS_OF_AN_HOUR = {
    ("half", "hour"): 30, ("half", "an", "hour"): 30, ("half-hour",): 30, ("quarter", "hour"): 15,
    ("quarter", "of", "an", "hour"): 15, ("quarter-hour",): 15, ("half-hourly",): 30,
}  # fmt: skip
_CAPITAL = re.compile(r"([0-9]{1,6})M")


def read_amounts(cursor: Cursor) -> list[Amount]:
    """The amounts that come next; empty when there are none."""
    compact = compact_amounts(cursor.word)
    if compact:
        reject_ambiguous_month(cursor.written[cursor.at])
        cursor.at += 1
        return compact
    return cursor.take_list(lambda: _amount(cursor))


def reject_ambiguous_month(written: str) -> None:
    """Many people mean months by a capital M."""
    match = _CAPITAL.fullmatch(written)
    if match:
        raise ScheduleError(
            f"{written[:40]!r}: minutes, or months?",
            f'say "every {match[1]} minutes" or "every {match[1]} months on the 1st"',
        )


def total_amount(amounts: list[Amount]) -> Amount:
    if len(amounts) == 1:
        return amounts[0]
    if any(amount.unit not in SECONDS for amount in amounts):
        raise ScheduleError("months and years do not add up with other units", 'such as "every 90 minutes"')
    return Amount(sum(amount.number * SECONDS[amount.unit] for amount in amounts), "second")


def seconds_of(amounts: list[Amount]) -> int:
    if any(amount.unit not in SECONDS for amount in amounts):
        raise ScheduleError("months and years differ in length", "give a number of days, or a date")
    return sum(amount.number * SECONDS[amount.unit] for amount in amounts)


def _amount(cursor: Cursor) -> Amount | None:
    for words, minutes in _PARTS_OF_AN_HOUR.items():
        if cursor.take(*words):
            return Amount(minutes, "minute")
    count = 1 if cursor.word in ARTICLES else number_of(cursor.word)
    if count is not None and tuple(cursor.words[cursor.at + 1 : cursor.at + 4]) == ("and", "a", "half"):
        return _and_a_half(cursor, count, unit_of(cursor.ahead(4)), 5)
    unit = unit_of(cursor.following)
    if unit is None:
        return None
    if count is None:
        fraction = fraction_of(cursor.word, unit)
        cursor.at += 2 if fraction else 0
        return fraction
    if tuple(cursor.words[cursor.at + 2 : cursor.at + 5]) == ("and", "a", "half"):
        return _and_a_half(cursor, count, unit, 5)
    reject_ambiguous_month(f"{count}{cursor.written[cursor.at + 1]}")
    cursor.at += 2
    return Amount(count, unit)


def _and_a_half(cursor: Cursor, count: int, unit: str | None, words: int) -> Amount | None:
    """One and a half hours; an hour and a half."""
    if unit is None or unit not in SECONDS or unit == "second":
        return None
    cursor.at += words
    return Amount(count * SECONDS[unit] + SECONDS[unit] // 2, "second")


_WEEKS_IN_FORTNIGHT = 2
_MOST_IN_MONTH = 5
_USUAL_DAY = {
    "month": ("the 1st of every month", [1], []),
    "quarter": ("the 1st of January, April, July and October", [1], []),
    "year": ("1 January", [1], [1]),
}
_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_EXAMPLES = {
    "second": "every 30 seconds", "minute": "every 30 seconds", "hour": "every 20 minutes",
    "day": "every day at 9am and 5pm", "week": "every monday and thursday at 9am", "fortnight":
    "every 2 weeks on monday and thursday", "month": "on the 1st and 15th of every month", "quarter":
    "first and last day of every quarter", "year": "on the 1st of january and july",
}  # fmt: skip


def reject_ambiguous_adverb(word: str) -> None:
    """Biweekly means twice a week to some people and every two weeks to others."""
    hint = AMBIGUOUS_ADVERBS.get(word.replace("-", ""))
    if hint:
        raise ScheduleError(f"{word!r} is not clear", hint)


def add_every(cursor: Cursor, clause: Clause) -> None:
    clause.recurs = True
    reject_ambiguous_adverb(cursor.word)
    if cursor.take("other"):
        _every_other(cursor, clause)
    elif cursor.take("single") or cursor.take("and", "every"):
        add_every(cursor, clause)
    elif cursor.word in NAMED_TIMES:
        add_rate(clause, Amount(1, "day"))
    elif not clause.part and (part := cursor.take_one_of(PART_NAMES)):
        clause.part = PART_NAMES[part]
        add_rate(clause, Amount(1, "day"))
    elif _counts_days(cursor):
        _check_is_clear(cursor)
        add_ordinals(cursor, clause)
    elif amounts := read_amounts(cursor):
        _check_is_length(cursor)
        add_rate(clause, total_amount(amounts))
    elif unit := (unit_of(cursor.word) if cursor.word else None):
        _check_is_singular(cursor)
        cursor.at += 1
        add_rate(clause, _with_half(cursor, unit))
        for span in ("week", "month", "year") if unit == "day" else ():
            cursor.take("of", "the", span)
    else:
        _check_is_date(cursor)
        if not add_days(cursor, clause):
            cursor.fail("a unit of time or a day")


def _check_is_singular(cursor: Cursor) -> None:
    """Refuses "every minutes": the number is missing."""
    if cursor.word not in UNITS:
        cursor.fail("a number before it")


def _with_half(cursor: Cursor, unit: str) -> Amount:
    if unit == "hour" and cursor.take("and", "a", "half"):
        return Amount(90, "minute")
    return Amount(1, unit)


def _check_is_length(cursor: Cursor) -> None:
    """Refuses "every 5 minutes past the hour", which does not mean every 5 minutes."""
    if cursor.word in ("past", "after", "before", "to"):
        cursor.fail()


def add_adverb(cursor: Cursor, clause: Clause) -> None:
    """Daily, weekly and so on. The day may be left out where cron and systemd agree on one."""
    clause.recurs = True
    clause.adverb = cursor.before
    add_rate(clause, Amount(1, FREQUENCY_ADVERBS[cursor.before]))


def apply_default_day(cursor: Cursor, clause: Clause) -> None:
    """Monthly without a day is on the 1st."""
    if clause.adverb and clause.rate and not clause.names_days and clause.rate.unit in _USUAL_DAY:
        words, dates, months = _USUAL_DAY[clause.rate.unit]
        clause.dates, clause.months = list(dates), list(months)
        cursor.note(f'"{clause.adverb}" is read as {words}')


def add_rate(clause: Clause, rate: Amount) -> None:
    if rate.unit == "fortnight":
        rate = Amount(rate.number * _WEEKS_IN_FORTNIGHT, "week")
    if clause.rate and Amount(1, "day") in (clause.rate, rate) and clause.several_a_day != _is_sub_day(rate):
        rate = clause.rate if clause.several_a_day else rate  # every day, every 30 minutes
    elif clause.rate:
        raise ScheduleError(
            f'"every {clause.rate.unit}" and "every {rate.unit}": which of them?',
            'such as "every 30 minutes" or "every day at 9am"',
        )
    if rate.number < 1:
        raise ScheduleError("a period is at least 1")
    clause.rate = rate


def _is_sub_day(rate: Amount) -> bool:
    return rate.unit in SUB_DAY_UNITS


def add_times_per_period(cursor: Cursor, clause: Clause) -> bool:
    """Once a day; twice a week, if the days are given. Refuses "3 times an hour"."""
    before = cursor.at
    count = _TIMES.get(cursor.word) or (number_of(cursor.word) if cursor.following == "times" else None)
    if not count:
        return False
    cursor.at += 1 if cursor.word in _TIMES else 2
    unit: str | None = FREQUENCY_ADVERBS.get(cursor.word)
    if unit is None and cursor.take_one_of(("a", "an", "per", "every", "each")):
        unit = unit_of(cursor.word)
    if unit is None and count == 1 and cursor.before in ("every", "each"):
        cursor.at -= 1
        return True
    if unit is None:
        cursor.at = before
        return False
    cursor.at += 1
    clause.recurs = True
    add_rate(clause, Amount(1, unit))
    clause.count, clause.example = count, _EXAMPLES[unit]
    return True


def _check_is_date(cursor: Cursor) -> None:
    """Every 15th is of the month; every 2nd, every third or every last of what?"""
    count = ordinal_of(cursor.word)
    alone = cursor.following not in ("of", "and", ",", "-", "to", "through", "weekday", "workday", *MONTHS)
    if count and alone and count != 1 and count <= _MOST_IN_MONTH:
        date = "last day" if count == LAST else ordinal(count)
        raise ScheduleError(f'"every {cursor.word}" of what?', f'say "on the {date} of every month"')


def _counts_days(cursor: Cursor) -> bool:
    day = cursor.following in WEEKDAYS or unit_of(cursor.following) is not None
    return day and ordinal_of(cursor.word) is not None


def _check_is_clear(cursor: Cursor) -> None:
    """Every second friday: of the month, or every other one?"""
    count = ordinal_of(cursor.word)
    unit = unit_of(cursor.following)
    if cursor.ahead(2) == "of" and (unit in (None, "day")):
        return
    if count in (1, LAST) and unit in (None, "day"):
        return
    raise ScheduleError(
        f'"every {cursor.word} {cursor.following}" has two meanings',
        _both_meanings(count or 1, cursor.following),
    )


def _both_meanings(count: int, day: str) -> str:
    unit = unit_of(day)
    if unit == "day" or day in WEEKDAYS:
        rate = f"{count} days" if unit else f"{count} weeks on {day}"
        rate = f"other {day}" if count == 2 else rate  # noqa: PLR2004 (every other)
        most = 31 if unit else _MOST_IN_MONTH
        nth = f' or "the {ordinal(count)} {day} of every month"' if count <= most else ""
        return f'say "every {rate}"{nth}'
    count = max(count, 1)
    return {
        "hour": f'say "every {count} hours", or name the hour: "every day at {count % 24:02}:00"',
        "minute": f'say "every {count} minutes" or "every hour at minute {count % 60}"',
        "week": f'say "every {count} weeks on monday" or "the {ordinal(min(count, 5))} monday of every month"',
        "month": f'say "every {count} months on the 1st"',
        "quarter": f'say "every {3 * count} months on the 1st"',
        "year": f'say "every {count} years on january 1"',
    }.get(unit or "", f'say "every {count} {unit}s"')


def _every_other(cursor: Cursor, clause: Clause) -> None:
    unit = unit_of(cursor.word)
    if unit:
        cursor.at += 1
        add_rate(clause, Amount(2, unit))
    elif cursor.word in WEEKDAYS:
        add_rate(clause, Amount(2, "week"))
        add_weekdays(cursor, clause)
    else:
        cursor.fail("a unit of time or a weekday")
