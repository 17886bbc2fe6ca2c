"""Reads the instants and the durations in a schedule, and writes instants."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tickwork.model.quantities import parse_duration
from tickwork.schedule.due.calendar_bit_masks import LAST_YEAR, from_seconds
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.english.parse_frequency import read_amounts, reject_ambiguous_month, seconds_of
from tickwork.schedule.english.tokenizer import Cursor
from tickwork.schedule.english.vocabulary import SUB_DAY_UNITS, Amount, unit_of
from tickwork.schedule.errors import ScheduleError

_EXAMPLE = 'write it as "2026-12-24T18:00:00Z", or "2026-12-24 18:00" for local time'
_FIRST_YEAR = 1971  # by then it is 1970 or later in every time zone
_LONGEST_TEXT = 64


class Moment(NamedTuple):
    """The one due time of a schedule."""

    at: datetime
    zone: Zone  # to show it in
    notes: tuple[str, ...] = ()  # how ambiguous words were read

    @property
    def words(self) -> str:
        local = self.at.astimezone(self.zone.info)
        pattern = "%a %Y-%m-%d %H:%M:%S" if local.second or local.microsecond else "%a %Y-%m-%d %H:%M"
        return f"once, {local.strftime(pattern)} ({self.zone.name})"


def read_instant(value: object, zone: Zone) -> datetime:
    """ISO 8601, with an offset or as local time. A local time that a clock change skips means the time of the change;
    a repeated one means its first occurrence."""
    try:
        at = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None:
        raise ScheduleError(f"{str(value)[:80]!r} is not a date and time", _EXAMPLE)
    check_year(at)
    if at.tzinfo is not None:
        return at.astimezone(UTC)
    return from_seconds(zone.instant(at.replace(microsecond=0))) + timedelta(microseconds=at.microsecond)


def check_year(at: datetime) -> None:
    if not _FIRST_YEAR <= at.year <= LAST_YEAR:
        raise ScheduleError(
            f"the year {at.year} is out of range", f"use a year from {_FIRST_YEAR} to {LAST_YEAR}"
        )


def write_instant(at: datetime) -> str:
    return (
        at.astimezone(UTC)
        .isoformat(timespec="microseconds" if at.microsecond else "seconds")
        .replace("+00:00", "Z")
    )


def read_duration(value: object) -> timedelta:
    """A duration as in all other fields, or in words: 5 minutes, an hour and a half."""
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


def read_every(value: object) -> int:
    """The period in seconds."""
    seconds = read_duration(value).total_seconds()
    if seconds < 1 or seconds % 1:
        raise ScheduleError("a period is a whole number of seconds, at least 1")
    return int(seconds)
