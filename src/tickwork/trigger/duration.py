"""Durations, with the errors of a schedule."""

from datetime import timedelta

from tickwork.model.duration import parse_duration
from tickwork.trigger.english.amount import check_is_no_month, read_amounts, seconds_of
from tickwork.trigger.english.cursor import Cursor
from tickwork.trigger.english.lexicon import SEVERAL_A_DAY, Amount, unit_of
from tickwork.trigger.misread import Misread

_LONGEST_TEXT = 64


def read_duration(value: object) -> timedelta:
    """As everywhere, or in words: 5 minutes, an hour and a half."""
    if not isinstance(value, str | int | float):
        raise Misread(
            f"{str(value)[:40]!r} is not a duration", 'write "90s", "5m", "1h30m", "PT5M" or seconds'
        )
    if isinstance(value, str):
        check_is_no_month(value.replace(" ", ""))
    try:
        return parse_duration(value)
    except (ValueError, OverflowError) as error:
        seconds = _in_words(value)
        if seconds is None:
            raise Misread(str(error)) from error
    try:
        return parse_duration(seconds)
    except ValueError as error:
        raise Misread(str(error)) from error


def _in_words(value: str | float) -> int | None:
    """The seconds, if it is an amount in words."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_TEXT:
        return None
    cursor = Cursor(value)
    unit = unit_of(cursor.word)
    if len(cursor.words) == 1 and unit in SEVERAL_A_DAY:
        return seconds_of([Amount(1, unit)])
    amounts = read_amounts(cursor)
    return seconds_of(amounts) if amounts and cursor.done else None
