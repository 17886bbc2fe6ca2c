"""The days a cron expression names: by date, counted from the end, nearest workday, n-th weekday."""

from typing import NamedTuple

from tickwork.schedule.cron.field import DATE, NTH, WEEKDAY, YEAR, Spread, write_list, write_starred
from tickwork.schedule.due.calendar_bit_masks import mask_of, month_length, numbers_in, weekdays_of
from tickwork.schedule.errors import ScheduleError

_EVERY_DATE = mask_of(range(1, 32))
_EVERY_WEEKDAY = mask_of(range(7))
_WORKDAYS = mask_of(range(1, 6))
EVERY_MONTH = mask_of(range(1, 13))
EVERY_YEAR = mask_of(range(YEAR.high - YEAR.low + 1))
_WRITTEN_WEEKDAY = WEEKDAY._replace(high=6)
_LAST = 0  # stands for n when the last weekday is meant


class Dates(NamedTuple):
    """Bit masks: days by number, days before the last (L-3), and days whose nearest workday is meant (15W)."""

    plain: int = 0
    before_last: int = 0
    near: int = 0
    last_workday: bool = False

    def month(self, year: int, month: int) -> int:
        length = month_length(year, month)
        found = self.plain & (2 << length) - 2
        for before in numbers_in(self.before_last):
            found |= 1 << length - before if before < length else 0
        if self.near or self.last_workday:
            found |= self._workdays(year, month, length)
        return found

    def _workdays(self, year: int, month: int, length: int) -> int:
        found, workdays = 0, weekdays_of(year, month, _WORKDAYS)
        for day in numbers_in(self.near | (1 << length if self.last_workday else 0)):
            found |= _nearest_workday(day, length, workdays)
        return found

    def __str__(self) -> str:
        parts = [write_list(self.plain)] if self.plain else []
        parts += [f"{day}W" for day in numbers_in(self.near)]
        parts += [f"L-{before}" if before else "L" for before in numbers_in(self.before_last)]
        return ",".join([*parts, "LW"] if self.last_workday else parts)


class Weekdays(NamedTuple):
    """Sunday is 0. In `nth`, bit 8 * n + weekday stands for the n-th of a month; n = 0 is the last."""

    plain: int = 0
    nth: int = 0

    def month(self, year: int, month: int) -> int:
        found = weekdays_of(year, month, self.plain)
        for code in numbers_in(self.nth) if self.nth else ():
            days = numbers_in(weekdays_of(year, month, 1 << code % 8))
            if code // 8 <= len(days):
                found |= 1 << days[code // 8 - 1]
        return found

    def __str__(self) -> str:
        parts = [write_list(self.plain)] if self.plain else []
        return ",".join(
            parts + [f"{code % 8}#{code // 8}" if code // 8 else f"{code}L" for code in numbers_in(self.nth)]
        )


EVERY_DATE = Dates(_EVERY_DATE)
EVERY_WEEKDAY = Weekdays(_EVERY_WEEKDAY)


class CronDays(NamedTuple):
    """Days that match the date and the weekday, or (`either`) at least one of the two."""

    dates: Dates = EVERY_DATE
    weekdays: Weekdays = EVERY_WEEKDAY
    months: int = EVERY_MONTH
    years: int = EVERY_YEAR
    either: bool = False

    def months_of(self, year: int) -> int:
        return self.months if self.years >> (year - YEAR.low) & 1 else 0

    def month(self, year: int, month: int) -> int:
        if not (self.months >> month & 1 and self.years >> (year - YEAR.low) & 1):
            return 0
        if self.dates == EVERY_DATE:
            return self.weekdays.month(year, month)
        if self.weekdays == EVERY_WEEKDAY:
            return self.dates.month(year, month)
        dates, weekdays = self.dates.month(year, month), self.weekdays.month(year, month)
        return dates | weekdays if self.either else dates & weekdays

    def write(self) -> tuple[str, str]:
        """The date field and the weekday field."""
        dates = "*" if self.dates == EVERY_DATE else str(self.dates)
        weekdays = "*" if self.weekdays == EVERY_WEEKDAY else str(self.weekdays)
        if self.either or "*" in (dates, weekdays):
            return dates, weekdays
        # Cron reads two restricted fields as "either" unless one of them begins with a star.
        starred = write_starred(self.dates.plain, DATE)
        if starred is not None:
            return ",".join(filter(None, [starred, str(self.dates._replace(plain=0))])), weekdays
        starred = _write_starred_weekdays(self.weekdays.plain)
        return dates, ",".join(filter(None, [starred, str(self.weekdays._replace(plain=0))]))


def read_days(date: str, weekday: str, *, months: int, years: int, spread: Spread) -> CronDays:
    dates, weekdays = _read_dates(date, spread), _read_weekdays(weekday, spread)
    either = not date.startswith("*") and not weekday.startswith("*")
    if either and (dates == EVERY_DATE or weekdays == EVERY_WEEKDAY):
        dates, weekdays = EVERY_DATE, EVERY_WEEKDAY
    return CronDays(dates, weekdays, months, years, either and dates != EVERY_DATE)


def _write_starred_weekdays(plain: int) -> str:
    """A text that begins with a star. Sunday alone can be written so, too: */7 is 0 and 7, both Sunday."""
    starred = write_starred(plain, _WRITTEN_WEEKDAY)
    if starred is not None:
        return starred
    assert plain & 1  # noqa: S101 (one of the two fields began with a star, and it was not the date)
    return ",".join(filter(None, ["*/7", write_list(plain & ~1)]))


def _read_dates(text: str, spread: Spread) -> Dates:
    dates = Dates()
    for item in text.split(","):
        dates = _add_date(dates, item, spread)
    return EVERY_DATE if dates.plain == _EVERY_DATE else dates


def _add_date(dates: Dates, item: str, spread: Spread) -> Dates:
    if item == "LW":
        return dates._replace(last_workday=True)
    if item.startswith("L"):
        return dates._replace(before_last=dates.before_last | 1 << _before_last(item))
    if item.endswith("W"):
        return dates._replace(near=dates.near | 1 << DATE.number(item[:-1]))
    return dates._replace(plain=dates.plain | DATE.read(item, spread))


def _before_last(item: str) -> int:
    if item == "L":
        return 0
    if not item.startswith("L-"):
        raise ScheduleError(f"day of month: {item[:40]!r} is not L, LW or L-3")
    return DATE._replace(high=30).number(item[2:])


def _read_weekdays(text: str, spread: Spread) -> Weekdays:
    weekdays = Weekdays()
    for item in text.split(","):
        weekdays = _add_weekday(weekdays, item, spread)
    return EVERY_WEEKDAY if weekdays.plain == _EVERY_WEEKDAY else weekdays


def _add_weekday(weekdays: Weekdays, item: str, spread: Spread) -> Weekdays:
    if item == "L":
        raise ScheduleError(
            "day of week: L needs a day", 'write "5L" for the last Friday of the month, or "6" for Saturday'
        )
    if "#" in item:
        weekday, _, nth = item.partition("#")
        return _add_nth(weekdays, weekday, NTH.number(nth))
    if item.endswith("L"):
        return _add_nth(weekdays, item[:-1], _LAST)
    plain = WEEKDAY.read(item, spread)
    return weekdays._replace(plain=weekdays.plain | plain & _EVERY_WEEKDAY | plain >> 7)


def _add_nth(weekdays: Weekdays, weekday: str, nth: int) -> Weekdays:
    return weekdays._replace(nth=weekdays.nth | 1 << 8 * nth + WEEKDAY.number(weekday) % 7)


def _nearest_workday(day: int, length: int, workdays: int) -> int:
    """A mask of the workday nearest to a day, in the same month. Saturday becomes Friday."""
    for near in (day, day - 1, day + 1, day - 2, day + 2):
        if day <= length and workdays >> max(near, 0) & 1:
            return 1 << near
    return 0
