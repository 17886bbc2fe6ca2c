"""The calendar in whole seconds and days since 1970, up to the year 2100: sets of days, and sets of times of day.

Both kinds of set are bit masks: bit n stands for the n-th day of a month, or for hour, minute or second n.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple, Protocol

DAY = 86_400
BEGIN = 2 * DAY  # by then it is 1970 in every time zone
LAST_YEAR = 2099
_START = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
END = (datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC) - _START) // _SECOND
FIRST_DAY = _START.toordinal()
_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def to_seconds(at: datetime) -> int:
    """Rounded down, so that "strictly after" means the same for the instant and for its second."""
    return (at - _START) // _SECOND


def from_seconds(seconds: int) -> datetime:
    return _START + timedelta(seconds=seconds)


class Days(Protocol):
    def months_of(self, year: int) -> int:
        """A mask of the months of that year that may have days of the set: bit n is month n. The others are not
        searched."""

    def month(self, year: int, month: int) -> int:
        """A mask of the days of that month that belong to the set: bit n is the n-th."""


def first_day_from(days: Days, day: int) -> int | None:
    """The first day of the set at or after `day`, in days since 1970. Searches up to the last year."""
    start = date.fromordinal(FIRST_DAY + day)
    found = first_from(days.month(start.year, start.month), start.day) if start.year <= LAST_YEAR else -1
    if found > 0:
        return day_number(start.year, start.month, found)
    later = start.month + 1
    for year in range(start.year, LAST_YEAR + 1):
        months = days.months_of(year)
        while (month := first_from(months, later)) > 0:
            mask = days.month(year, month)
            if mask:
                return day_number(year, month, first_from(mask, 1))
            later = month + 1
        later = 1
    return None


def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970."""
    return date(year, month, day).toordinal() - FIRST_DAY


@cache
def month_length(year: int, month: int) -> int:
    return 29 if month == 2 and year % 4 == 0 and (year % 100 or year % 400 == 0) else _LENGTHS[month]  # noqa: PLR2004


def all_days_of(year: int, month: int) -> int:
    return (2 << month_length(year, month)) - 2


def weekdays_of(year: int, month: int, weekdays: int) -> int:
    """The days of the month that fall on some weekdays, Sunday being bit 0."""
    return _pattern(_first_weekday(year, month), weekdays) & all_days_of(year, month)


@cache
def _first_weekday(year: int, month: int) -> int:
    return date(year, month, 1).isoweekday() % 7


@cache
def _pattern(first: int, weekdays: int) -> int:
    """The days of a month of 31 days that begins on the weekday `first`."""
    return mask_of([day for day in range(1, 32) if weekdays >> (first + day - 1) % 7 & 1])


def mask_of(values: Iterable[int]) -> int:
    """Bit n is set when n is among the values."""
    mask = 0
    for value in values:
        mask |= 1 << value
    return mask


def numbers_in(mask: int) -> list[int]:
    return [value for value in range(mask.bit_length()) if mask >> value & 1]


def first_from(mask: int, low: int) -> int:
    """The smallest member that is at least `low`, or -1."""
    rest = mask >> low
    return low + (rest & -rest).bit_length() - 1 if rest else -1


EVERY_HOUR = mask_of(range(24))
EVERY_MINUTE = EVERY_SECOND = mask_of(range(60))


class Times(NamedTuple):
    hours: int
    minutes: int
    seconds: int = 1

    def first_from(self, second: int) -> int:
        """The first of these times at or after a second of the day, or -1."""
        hour, rest = divmod(second, 3600)
        if self.hours >> hour & 1 and (found := self._within_hour(rest)) >= 0:
            return hour * 3600 + found
        later = first_from(self.hours, hour + 1)
        return later * 3600 + self._within_hour(0) if later >= 0 else -1

    def _within_hour(self, second: int) -> int:
        minute, rest = divmod(second, 60)
        if self.minutes >> minute & 1 and (found := first_from(self.seconds, rest)) >= 0:
            return minute * 60 + found
        later = first_from(self.minutes, minute + 1)
        return later * 60 + first_from(self.seconds, 0) if later >= 0 else -1

    @property
    def per_day(self) -> int:
        return self.hours.bit_count() * self.minutes.bit_count() * self.seconds.bit_count()
