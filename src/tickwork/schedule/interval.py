"""Schedules that are due at a fixed interval of real time, independent of clock changes."""

from datetime import timedelta
from typing import NamedTuple

from tickwork.model.quantities import parse_duration
from tickwork.schedule.due.epoch import BEGIN, END
from tickwork.schedule.english.cursor import Cursor
from tickwork.schedule.english.parse_frequency import read_amounts, reject_ambiguous_month, seconds_of
from tickwork.schedule.english.words import SUB_DAY_UNITS, Amount, unit_of
from tickwork.schedule.errors import ScheduleError

_LONGEST_TEXT = 64


def read_duration(value: object) -> timedelta:
    """A duration as in every other field, or in words: 5 minutes, an hour and a half."""
    if not isinstance(value, str | int | float):
        raise ScheduleError(
            f"{str(value)[:40]!r} is not a duration", 'write "90s", "5m", "1h30m", "PT5M" or seconds'
        )
    if isinstance(value, str):
        reject_ambiguous_month(value.replace(" ", ""))
    try:
        return parse_duration(value)
    except (ValueError, OverflowError) as error:
        seconds = _in_words(value)
        if seconds is None:
            raise ScheduleError(str(error)) from error
    try:
        return parse_duration(seconds)
    except ValueError as error:
        raise ScheduleError(str(error)) from error


def _in_words(value: str | float) -> int | None:
    """The seconds, if it is an amount in words."""
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_TEXT:
        return None
    cursor = Cursor(value)
    unit = unit_of(cursor.word)
    if len(cursor.words) == 1 and unit in SUB_DAY_UNITS:
        return seconds_of([Amount(1, unit)])
    amounts = read_amounts(cursor)
    return seconds_of(amounts) if amounts and cursor.done else None


class Interval(NamedTuple):
    """Due every `every` seconds from the anchor. With the default, 1970, all jobs of a period share one timer."""

    every: int
    anchor: int = 0

    def next_after(self, after: int) -> int | None:
        after = max(after, BEGIN)
        due = after + self.every - (after - self.anchor) % self.every
        return due if due < END else None


def read_every(value: object) -> int:
    """The period in seconds."""
    seconds = read_duration(value).total_seconds()
    if seconds < 1 or seconds % 1:
        raise ScheduleError("a period is a whole number of seconds, at least 1")
    return int(seconds)
