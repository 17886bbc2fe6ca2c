"""The days an RRULE names: every n-th year, month, week or day that passes all of its filters."""

from collections.abc import Callable, Iterable
from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple

from tickwork.schedule.due.calendar_bit_masks import (
    FIRST_DAY,
    LAST_YEAR,
    all_days_of,
    day_number,
    mask_of,
    month_length,
    numbers_in,
    weekdays_of,
)

Frequency = Literal["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]


class RecurrenceDays(NamedTuple):
    """An empty filter lets everything through. Monday is 0. Negative numbers count from the end."""

    frequency: Frequency
    interval: int
    anchor: int  # the day to count from, in days since 1970
    week_start: int = 0
    months: frozenset[int] = frozenset()
    dates: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    nth_weekdays: frozenset[tuple[int, int]] = frozenset()  # (n, weekday)
    year_days: frozenset[int] = frozenset()
    weeks: frozenset[int] = frozenset()
    positions: frozenset[int] = frozenset()

    def months_of(self, year: int) -> int:
        if self.frequency == "YEARLY" and (year - self._start.year) % self.interval:
            return 0
        return _cached_months(self, _equivalent_year(year))

    def month(self, year: int, month: int) -> int:
        if self.interval == 1:
            return _cached_days(self, _equivalent_year(year), month)
        in_interval = self._days_in_interval(year, month)
        return in_interval and in_interval & _cached_days(self, _equivalent_year(year), month)

    @property
    def _start(self) -> date:
        return date.fromordinal(FIRST_DAY + self.anchor)

    def _days_in_interval(self, year: int, month: int) -> int:
        """The days of the month that lie in every `interval`-th period."""
        whole = all_days_of(year, month)
        start = self._start
        if self.frequency == "YEARLY":
            return whole if (year - start.year) % self.interval == 0 else 0
        if self.frequency == "MONTHLY":
            return whole if ((year - start.year) * 12 + month - start.month) % self.interval == 0 else 0
        first = day_number(year, month, 1)
        if self.frequency == "WEEKLY":
            week = self._week_of(self.anchor)
            return whole & self._days_of_weeks(first, lambda day: (day - week) // 7 % self.interval == 0)
        if self.frequency == "DAILY":
            return whole & mask_of(range(1 + (self.anchor - first) % self.interval, 32, self.interval))
        return whole

    def named(self, year: int, month: int) -> int:
        """The days that pass all filters, as if the interval were 1."""
        return self._at_positions(year, month) if self.positions else self.matching(year, month)

    def matching(self, year: int, month: int) -> int:
        if self.months and month not in self.months:
            return 0
        found = all_days_of(year, month)
        if self.dates:
            found &= self._dates(month_length(year, month))
        if self.weekdays or self.nth_weekdays:
            found &= self._weekdays(year, month)
        if self.year_days:
            found &= self._year_days(year, month)
        if self.weeks:
            found &= self._weeks(year, month)
        return found

    def _dates(self, length: int) -> int:
        days = (day if day > 0 else length + 1 + day for day in self.dates)
        return mask_of([day for day in days if day > 0])

    def _weekdays(self, year: int, month: int) -> int:
        found = weekdays_of(year, month, _sunday_first(self.weekdays))
        in_year = self.frequency == "YEARLY" and not self.months
        for nth, weekday in self.nth_weekdays:
            days = weekdays_of(year, month, _sunday_first((weekday,)))
            found |= _nth_of_year(nth, weekday, year, month) if in_year else _nth_of_month(nth, days)
        return found

    def _year_days(self, year: int, month: int) -> int:
        before = day_number(year, month, 1) - day_number(year, 1, 1)
        length = day_number(year + 1, 1, 1) - day_number(year, 1, 1)
        days = ((day if day > 0 else length + 1 + day) - before for day in self.year_days)
        return mask_of([day for day in days if 0 < day <= 31])  # noqa: PLR2004 (the longest month)

    def _weeks(self, year: int, month: int) -> int:
        return self._days_of_weeks(
            day_number(year, month, 1),
            lambda day: not self.weeks.isdisjoint(_week_numbers(day, self.week_start)),
        )

    def _days_of_weeks(self, first: int, is_meant: Callable[[int], bool]) -> int:
        """The days of the month that begins on `first` and whose week, given by its first day, is meant."""
        found = 0
        for day in range(self._week_of(first), first + 31, 7):
            found |= 0b1111111 << 7 + day - first if is_meant(day) else 0
        return found >> 6

    def _week_of(self, day: int) -> int:
        return _week_begin(day, self.week_start)

    def _at_positions(self, year: int, month: int) -> int:
        """Of the matching days of each period, those at the given positions."""
        start, end, period = self._periods(year, month)
        chosen = _positions_between(self, start, end, period)
        return chosen >> day_number(year, month, 1) - start << 1 & all_days_of(year, month)

    def _periods(self, year: int, month: int) -> tuple[int, int, int]:
        """The first day, the day after the last, and the length of the periods that touch a month."""
        first, after = day_number(year, month, 1), day_number(year, month, 1) + month_length(year, month)
        if self.frequency == "YEARLY":
            start, after = day_number(year, 1, 1), day_number(year + 1, 1, 1)
            return start, after, after - start
        if self.frequency == "MONTHLY":
            return first, after, after - first
        return self._week_of(first), self._week_of(after - 1) + 7, 7


@lru_cache(maxsize=4096)
def _cached_months(rule: RecurrenceDays, year: int) -> int:
    return mask_of([month for month in range(1, 13) if _cached_days(rule, year, month)])


def _equivalent_year(year: int) -> int:
    """A year from 1972 to 1999 with the same calendar, so that results can be cached: calendars repeat after 28 years.
    The last year is an exception, because 2100 is not a leap year."""
    return year if year == LAST_YEAR else 1972 + (year - 1972) % 28


def _week_begin(day: int, week_start: int) -> int:
    """The first day of the week that a day is in."""
    return day - (FIRST_DAY - 1 + day - week_start) % 7


@lru_cache(maxsize=16_384)  # the weeks of 28 years, for every first day of the week
def _week_numbers(week: int, week_start: int) -> tuple[int, int]:
    """A week's number from the start and from the end of its year, the year of its fourth day."""
    year = date.fromordinal(FIRST_DAY + week + 3).year
    start = _week_begin(day_number(year, 1, 4), week_start)
    following = _week_begin(day_number(year + 1, 1, 4), week_start)
    return (week - start) // 7 + 1, (week - following) // 7


@lru_cache(maxsize=16_384)  # rare due times are searched year by year, and only 28 calendars differ
def _cached_days(rule: RecurrenceDays, year: int, month: int) -> int:
    return rule.named(year, month)


@lru_cache(maxsize=1024)  # the twelve months of a year need the same days
def _positions_between(rule: RecurrenceDays, start: int, end: int, period: int) -> int:
    """A mask of the days at the rule's positions (BYSETPOS): bit 0 is `start`."""
    matching, found = _matching_between(rule, start, end), 0
    for offset in range(0, end - start, period):
        days = numbers_in(matching >> offset & (1 << period) - 1)
        for position in rule.positions:
            if abs(position) <= len(days):
                found |= 1 << offset + days[position - (position > 0)]
    return found


def _matching_between(rule: RecurrenceDays, start: int, end: int) -> int:
    """A mask of the matching days: bit 0 is `start`."""
    found, day = 0, start
    while day < end:
        at = date.fromordinal(FIRST_DAY + day)
        first = day - at.day + 1
        month = rule.matching(at.year, at.month) >> 1
        found |= month << first - start if first >= start else month >> start - first
        day = first + month_length(at.year, at.month)
    return found & (1 << end - start) - 1


def _sunday_first(weekdays: Iterable[int]) -> int:
    return mask_of([(weekday + 1) % 7 for weekday in weekdays])


def _nth_of_month(nth: int, days: int) -> int:
    numbers = numbers_in(days)
    return 1 << numbers[nth - 1 if nth > 0 else nth] if abs(nth) <= len(numbers) else 0


def _nth_of_year(nth: int, weekday: int, year: int, month: int) -> int:
    """A mask of the month; empty when that day is in another month."""
    if nth > 0:
        start = date(year, 1, 1)
        day = start.toordinal() + (weekday - start.weekday()) % 7 + 7 * (nth - 1)
    else:
        end = date(year, 12, 31)
        day = end.toordinal() - (end.weekday() - weekday) % 7 + 7 * (nth + 1)
    found = date.fromordinal(day)
    return 1 << found.day if (found.year, found.month) == (year, month) else 0
