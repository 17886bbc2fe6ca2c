"""What a sentence says about when, one fact each; and what that means."""

from dataclasses import dataclass, field

from tickwork.trigger.cron import Cron
from tickwork.trigger.cronday import EVERY_DATE, EVERY_MONTH, EVERY_WEEKDAY, CronDays, Dates, Weekdays
from tickwork.trigger.due.epoch import DAY
from tickwork.trigger.due.times import EVERY_HOUR, EVERY_MINUTE, Times, bits
from tickwork.trigger.due.wallclock import AS_SHOWN, ONCE_EACH
from tickwork.trigger.english.lexicon import LAST, SECONDS, Amount
from tickwork.trigger.misread import Misread

_CODES = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_MONTHS_IN = {"month": 1, "quarter": 3}
_MINUTE, _HOUR = 60, 3600


@dataclass
class Clause:
    recurs: bool = False  # said so, by "every" or a plural
    rate: Amount | None = None  # every so many units
    weekdays: list[int] = field(default_factory=list)
    nth_weekdays: list[tuple[int, int]] = field(default_factory=list)  # (n or LAST, weekday)
    dates: list[int] = field(default_factory=list)  # LAST for the last day
    workdays: list[int] = field(default_factory=list)  # 1 for the first of a month, LAST for the last
    months: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)  # seconds of the day
    minutes: list[int] = field(default_factory=list)  # of every hour
    window: tuple[int, int] | None = None  # seconds of the day, both included

    @property
    def empty(self) -> bool:
        return self == Clause(recurs=self.recurs)

    @property
    def several_a_day(self) -> bool:
        return self.rate is not None and self.rate.unit in ("second", "minute", "hour")

    @property
    def names_days(self) -> bool:
        return bool(self.weekdays or self.nth_weekdays or self.dates or self.workdays or self.months)

    def compile(self) -> list[int | Cron | str]:
        """Periods, cron expressions and RRULEs, to be joined."""
        if self.rate and self.several_a_day:
            return self._several_times_a_day(self.rate)
        if self.window or self.minutes:
            raise Misread("a window of time needs a rate", 'such as "every 15 minutes between 9am and 5pm"')
        count = self.rate.number if self.rate else 1
        times = group_times(self.times or [0])
        if count > 1 or (self.rate and self.rate.unit == "quarter"):
            return [f"{self._rule()};{_write_times(part)}" for part in times]
        self._check_day_is_clear()
        return [Cron(part, self._days(), ONCE_EACH) for part in times]

    def _several_times_a_day(self, rate: Amount) -> list[int | Cron | str]:
        if self.times:
            raise Misread(f'"every {rate.unit}" and "at" a time of day exclude each other')
        period = rate.number * SECONDS[rate.unit]
        if self.minutes and period != _HOUR:
            raise Misread('"at minute" goes with "every hour" only')
        if not (self.minutes or self.window or self.names_days):
            return [period]
        days = self._days()
        if period < _MINUTE:
            return [Cron(self._seconds(period), days, AS_SHOWN)]
        return [Cron(part, days, AS_SHOWN) for part in group_times(self._grid(period))]

    def _seconds(self, period: int) -> Times:
        if self.window or _MINUTE % period:
            raise Misread("seconds within a day go evenly into a minute, without a window")
        return Times(EVERY_HOUR, EVERY_MINUTE, bits(range(0, _MINUTE, period)))

    def _grid(self, period: int) -> list[int]:
        """Counted from the start of the window, or of the day."""
        start, end = self.window or (0, DAY - 1)
        if end < start:
            raise Misread(
                "a window of time ends after it begins", "split it at midnight into two, joined with and"
            )
        if not self.window and DAY % period:
            raise Misread(
                f"{period} seconds do not go evenly into a day", 'say from when, "between 9am and 5pm"'
            )
        if period % _MINUTE:
            raise Misread("within a window, a period is a whole number of minutes")
        if not self.minutes:
            return list(range(start, end + 1, period))
        hours = range(start - start % _HOUR, end + 1, _HOUR)
        grid = (hour + minute * _MINUTE for hour in hours for minute in self.minutes)
        return sorted(time for time in set(grid) if start <= time <= end)

    def _check_day_is_clear(self) -> None:
        unit = self.rate.unit if self.rate else None
        if unit == "week" and not self.weekdays:
            raise Misread("on which day of the week?", 'such as "every week on monday"')
        if unit == "month" and not (self.dates or self.nth_weekdays or self.workdays):
            raise Misread("on which day of the month?", 'such as "every month on the 1st"')
        if unit == "year" and not (self.months and (self.dates or self.nth_weekdays or self.workdays)):
            raise Misread("on which day of the year?", 'such as "every year on december 24"')
        if unit is None and not (self.weekdays or self.dates or self.nth_weekdays or self.workdays):
            raise Misread("on which days?", 'such as "every day" or "every monday"')

    def _days(self) -> CronDays:
        by_date, by_weekday = self.dates or self.workdays, self.weekdays or self.nth_weekdays
        if by_date and by_weekday:
            raise Misread(
                "a day of the month and a day of the week: which of them?", "join two sentences with and"
            )
        dates = Dates(
            plain=bits([day for day in self.dates if day != LAST]),
            before_last=int(LAST in self.dates),
            near=bits([day for day in self.workdays if day != LAST]),
            last_workday=LAST in self.workdays,
        )
        nth = bits([8 * max(n, 0) + weekday for n, weekday in self.nth_weekdays])
        weekdays = Weekdays(bits(self.weekdays), nth)
        return CronDays(
            dates if by_date else EVERY_DATE,
            weekdays if by_weekday and weekdays.plain != EVERY_WEEKDAY.plain else EVERY_WEEKDAY,
            bits(self.months) or EVERY_MONTH,
        )

    def _rule(self) -> str:
        """Every n-th day, week, month or year, as an RRULE without its times."""
        if self.rate is None or self.workdays:
            raise Misread("only the first or last workday of every month can be asked for")
        unit, days = self.rate.unit, ",".join(_CODES[day] for day in self.weekdays)
        interval = self.rate.number * _MONTHS_IN.get(unit, 1)
        months = f";BYMONTH={','.join(map(str, self.months))}" if self.months else ""
        if unit == "day" and not (self.weekdays or self.nth_weekdays or self.dates):
            return f"FREQ=DAILY;INTERVAL={interval}{months}"
        if unit == "week" and days and not (self.nth_weekdays or self.dates):
            return f"FREQ=WEEKLY;INTERVAL={interval};BYDAY={days}{months}"
        if unit in _MONTHS_IN and not (self.weekdays or self.months):
            return f"FREQ=MONTHLY;INTERVAL={interval};{self._days_of_month()}"
        if unit == "year" and self.months and not self.weekdays:
            return f"FREQ=YEARLY;INTERVAL={interval}{months};{self._days_of_month()}"
        raise Misread(
            f"on which day of every {self.rate.number} {unit}s?",
            f'such as "every {self.rate.number} {_EXAMPLE[unit]}"',
        )

    def _days_of_month(self) -> str:
        if bool(self.dates) == bool(self.nth_weekdays):
            raise Misread("on which day of the month?", 'such as "on the 1st" or "on the first monday"')
        if self.dates:
            return f"BYMONTHDAY={','.join(map(str, self.dates))}"
        return f"BYDAY={','.join(f'{n}{_CODES[day]}' for n, day in self.nth_weekdays)}"


_EXAMPLE = {
    "day": "days at 9am",
    "week": "weeks on monday",
    "month": "months on the 1st",
    "quarter": "quarters on the 1st",
    "year": "years on december 24",
}


def group_times(times: list[int]) -> list[Times]:
    """Times of day as few sets of hours with the same minutes and seconds as possible."""
    by_hour: dict[int, set[int]] = {}
    for time in times:
        by_hour.setdefault(time // _HOUR, set()).add(time % _HOUR)
    grouped: dict[tuple[int, int], int] = {}
    for hour, rest in by_hour.items():
        for second in {time % _MINUTE for time in rest}:
            minutes = bits([time // _MINUTE for time in rest if time % _MINUTE == second])
            grouped[minutes, second] = grouped.get((minutes, second), 0) | 1 << hour
    return [Times(hours, minutes, 1 << second) for (minutes, second), hours in grouped.items()]


def _write_times(times: Times) -> str:
    names = zip(("BYHOUR", "BYMINUTE", "BYSECOND"), times, strict=True)
    return ";".join(f"{name}={','.join(str(n) for n in range(60) if mask >> n & 1)}" for name, mask in names)
