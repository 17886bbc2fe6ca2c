"""Lengths of time: 5 minutes, an hour and a half, 1h30m, PT5M, half an hour."""

import re

from tickwork.trigger.english.cursor import Cursor
from tickwork.trigger.english.lexicon import (
    ONE,
    SECONDS,
    Amount,
    compact_amounts,
    fraction_of,
    number_of,
    unit_of,
)
from tickwork.trigger.misread import Misread

_PARTS_OF_AN_HOUR = {
    ("half", "hour"): 30, ("half", "an", "hour"): 30, ("half-hour",): 30, ("quarter", "hour"): 15,
    ("quarter", "of", "an", "hour"): 15, ("quarter-hour",): 15, ("half-hourly",): 30,
}  # fmt: skip
_CAPITAL = re.compile(r"([0-9]{1,6})M")


def read_amounts(cursor: Cursor) -> list[Amount]:
    """Empty when there is none."""
    compact = compact_amounts(cursor.word)
    if compact:
        check_is_no_month(cursor.written[cursor.at])
        cursor.at += 1
        return compact
    return cursor.take_list(lambda: _amount(cursor))


def check_is_no_month(written: str) -> None:
    """Many mean months by a capital M."""
    match = _CAPITAL.fullmatch(written)
    if match:
        raise Misread(
            f"{written[:40]!r}: minutes, or months?",
            f'say "every {match[1]} minutes" or "every {match[1]} months on the 1st"',
        )


def total(amounts: list[Amount]) -> Amount:
    if len(amounts) == 1:
        return amounts[0]
    if any(amount.unit not in SECONDS for amount in amounts):
        raise Misread("months and years do not add up with other units", 'such as "every 90 minutes"')
    return Amount(sum(amount.number * SECONDS[amount.unit] for amount in amounts), "second")


def seconds_of(amounts: list[Amount]) -> int:
    if any(amount.unit not in SECONDS for amount in amounts):
        raise Misread("months and years differ in length", "give a number of days, or a date")
    return sum(amount.number * SECONDS[amount.unit] for amount in amounts)


def _amount(cursor: Cursor) -> Amount | None:
    for words, minutes in _PARTS_OF_AN_HOUR.items():
        if cursor.take(*words):
            return Amount(minutes, "minute")
    count = 1 if cursor.word in ONE else number_of(cursor.word)
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
    check_is_no_month(f"{count}{cursor.written[cursor.at + 1]}")
    cursor.at += 2
    return Amount(count, unit)


def _and_a_half(cursor: Cursor, count: int, unit: str | None, words: int) -> Amount | None:
    """One and a half hours; an hour and a half."""
    if unit is None or unit not in SECONDS or unit == "second":
        return None
    cursor.at += words
    return Amount(count * SECONDS[unit] + SECONDS[unit] // 2, "second")
