"""Collects what one clause of a sentence states, and compiles it to schedules."""

from dataclasses import dataclass, field, replace

from tickwork.schedule.cron.days import (
    EVERY_DATE,
    EVERY_MONTH,
    EVERY_WEEKDAY,
    EVERY_YEAR,
    CronDays,
    Dates,
    Weekdays,
)
from tickwork.schedule.cron.field import YEAR
from tickwork.schedule.cron.read_expression import Cron
from tickwork.schedule.due.calendar_bit_masks import DAY, EVERY_HOUR, EVERY_MINUTE, Times, mask_of
from tickwork.schedule.due.next_due_time import AS_SHOWN, ONCE_EACH
from tickwork.schedule.english.describe import clock_text, period_words
from tickwork.schedule.english.parse_time_and_zone import PARTS_OF_DAY, Clock
from tickwork.schedule.english.vocabulary import LAST, SECONDS, SUB_DAY_UNITS, Amount
from tickwork.schedule.errors import ScheduleError

_CODES = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_YEAR = 12
_SHORTEST_MONTH, _WEEKS = 28, 4
_MINUTE, _HOUR = 60, 3600


@dataclass
class Clause:
    recurs: bool = False  # stated by "every" or a plural
    rate: Amount | None = None  # every n units
    weekdays: list[int] = field(default_factory=list)
    nth_weekdays: list[tuple[int, int]] = field(default_factory=list)  # (n or LAST, weekday)
    dates: list[int] = field(default_factory=list)  # LAST for the last day
    workdays: list[int] = field(default_factory=list)  # 1 for the first of a month, LAST for the last
    months: list[int] = field(default_factory=list)
    years: list[int] = field(default_factory=list)
    times: list[Clock] = field(default_factory=list)
    minutes: list[int] = field(default_factory=list)  # of every hour
    window: tuple[int, int] | None = None  # seconds of the day, both included
    part: str | None = None  # of the day
    span: str = "month"  # what days are counted in
    both: bool = False  # a date and a weekday are meant together, as in friday the 13th
    aligned: bool = False  # counted from midnight, as groc's "synchronized"
    adverb: str = ""  # such as "monthly" instead of "every month"
    count: int = 1  # the 2 of "twice a week"; the days must then match it
    example: str = ""
    workday_words: bool = False

    @property
    def empty(self) -> bool:
        return self == Clause(recurs=self.recurs)

    @property
    def several_a_day(self) -> bool:
        return self.rate is not None and self.rate.unit in SUB_DAY_UNITS

    @property
    def timed(self) -> bool:
        return bool(self.times or self.part or self.several_a_day)

    @property
    def names_days(self) -> bool:
        days = self.weekdays or self.nth_weekdays or self.dates or self.workdays
        return bool(days or self.months or self.years)

    @property
    def counts_from_a_day(self) -> bool:
        """Every n days, weeks, months or years: the due times depend on the start."""
        return self.rate is not None and self.rate.number > 1 and not self.several_a_day

    def every_day(self) -> None:
        self.rate = Amount(1, "day")

    def leave_out(self, weekdays: set[int], months: set[int]) -> None:
        """Remove the weekdays and months that follow an "except"."""
        if weekdays:
            if self.nth_weekdays or self.workdays or self.counts_from_a_day:
                raise ScheduleError(
                    "weekdays can be left out of days, weekdays and dates only",
                    'such as "every day at 9am except mondays"',
                )
            self.both |= bool(self.dates)
            self.weekdays = [day for day in self.weekdays or range(7) if day not in weekdays]
        if months:
            self.months = [month for month in self.months or range(1, 13) if month not in months]
        if (weekdays and not self.weekdays) or (months and not self.months):
            raise ScheduleError('nothing is left after "except"')

    def compile(self) -> list[int | Cron | str]:
        """The schedules of the clause: periods in seconds, cron expressions and RRULEs."""
        self._check_count()
        if self.rate and self.several_a_day:
            return self._several_times_a_day(self.rate)
        if self.window or self.minutes or self.aligned:
            raise ScheduleError(
                "a window of time needs a rate", 'such as "every 15 minutes between 9am and 5pm"'
            )
        if self.rate == Amount(1, "quarter"):
            self.span, self.rate = "quarter", None
        if self.span != "month":
            return [schedule for part in self._by_end_of_span() for schedule in part.compile()]
        if self.years and (self.both or self.counts_from_a_day):
            raise ScheduleError(
                "a year cannot be combined with this",
                'say from when to when: "every 2 days starting 2027-01-01"',
            )
        times = group_times([time.second for time in self.times] or [0])
        if self.both:
            return [f"{self._both_rule()};{_write_times(part)}" for part in times]
        if self.counts_from_a_day:
            return [f"{self._rule()};{_write_times(part)}" for part in times]
        self._check_day_is_clear()
        return [Cron(part, self._days(), ONCE_EACH) for part in times]

    def _check_count(self) -> None:
        if self.count == 1 or not self.rate:
            return
        by_month = len(self.nth_weekdays) + len(self.dates) + len(self.workdays)
        days = {"day": 1, "week": len(self.weekdays), "month": by_month, "year": by_month * len(self.months)}
        if days.get(self.rate.unit, 0) * max(len(self.times), 1) != self.count:
            raise ScheduleError(
                f"when are the {self.count} times in {_an(self.rate.unit)}?", f'such as "{self.example}"'
            )

    def _by_end_of_span(self) -> list["Clause"]:
        """Splits the clause: first days belong to the first month of a quarter or year, last days to its last month."""
        length = _MONTHS_IN[self.span]
        if self.weekdays or self.months or not (self.dates or self.nth_weekdays or self.workdays):
            example = "every quarter on the 1st" if length < _YEAR else "every year on december 24"
            raise ScheduleError(f"on which day of the {self.span}?", f'such as "{example}"')
        if any(day > _SHORTEST_MONTH for day in self.dates) or any(n > _WEEKS for n, _ in self.nth_weekdays):
            raise ScheduleError(
                f"only days of the first four weeks of a {self.span}, or its last, can be named",
                f'such as "first day of the {self.span}"',
            )
        found = []
        for last, month in ((False, 1), (True, length)):
            part = replace(
                self,
                span="month",
                months=list(range(month, 13, length)),
                dates=[day for day in self.dates if (day == LAST) is last],
                workdays=[day for day in self.workdays if (day == LAST) is last],
                nth_weekdays=[(n, day) for n, day in self.nth_weekdays if (n == LAST) is last],
            )
            found += [part] if part.dates or part.workdays or part.nth_weekdays else []
        return found

    def _several_times_a_day(self, rate: Amount) -> list[int | Cron | str]:
        if self.times:
            raise ScheduleError(
                f'"every {rate.unit}" and "at" a time of day exclude each other',
                'say "every day at 9am", "every hour at minute 15" or "every 15 minutes between 9am and 5pm"',
            )
        seconds = rate.number * SECONDS[rate.unit]
        if self.part:
            hours = PARTS_OF_DAY[self.part].hours
            raise ScheduleError(
                f"from when to when is the {self.part}?",
                f'say "every hour between {clock_text(hours[0] * _HOUR)} and {clock_text(23 * _HOUR)}"',
            )
        if self.minutes and seconds != _HOUR:
            raise ScheduleError(
                '"at minute" goes with "every hour" only', 'such as "every hour at minute 15"'
            )
        if not (self.minutes or self.window or self.names_days or self.aligned):
            return [seconds]
        days = self._days()
        if seconds < _MINUTE:
            return [Cron(self._seconds(seconds), days, AS_SHOWN)]
        return [Cron(part, days, AS_SHOWN) for part in group_times(self._grid(seconds))]

    def _seconds(self, seconds: int) -> Times:
        if self.window or _MINUTE % seconds:
            raise ScheduleError(
                "seconds within a day go evenly into a minute, without a window",
                'such as "every 10 seconds on mondays"',
            )
        return Times(EVERY_HOUR, EVERY_MINUTE, mask_of(range(0, _MINUTE, seconds)))

    def _grid(self, seconds: int) -> list[int]:
        """The times of day, counted from the start of the window or of the day."""
        start, end = self.window or (0, DAY - 1)
        if end <= start:
            raise ScheduleError("a window of time ends after it begins", _over_midnight(seconds, start, end))
        if not self.window and DAY % seconds:
            raise ScheduleError(
                f"{period_words(seconds)} do not go evenly into a day",
                f'say from when: "every {period_words(seconds)} between 00:00 and 23:59"',
            )
        if seconds % _MINUTE:
            raise ScheduleError(
                "within a window, a period is a whole number of minutes",
                'such as "every 15 minutes between 9am and 5pm"',
            )
        if not self.minutes:
            return list(range(start, end + 1, seconds))
        hours = range(start - start % _HOUR, end + 1, _HOUR)
        grid = (hour + minute * _MINUTE for hour in hours for minute in self.minutes)
        return sorted(time for time in set(grid) if start <= time <= end)

    def _check_day_is_clear(self) -> None:
        unit = self.rate.unit if self.rate else None
        by_month = self.dates or self.nth_weekdays or self.workdays
        if unit == "week" and not self.weekdays:
            raise ScheduleError("on which day of the week?", 'such as "every week on monday"')
        if unit == "month" and not by_month:
            raise ScheduleError("on which day of the month?", 'such as "every month on the 1st"')
        if unit == "year" and not (self.months and by_month):
            raise ScheduleError("on which day of the year?", 'such as "every year on december 24"')
        if unit in ("day", "week") and by_month:
            raise ScheduleError(
                f"every {unit}, or on a day of the month?",
                'say "every day at 9am" or "on the 1st of every month at 9am"',
            )
        if unit is None and not (self.weekdays or by_month):
            raise ScheduleError("on which days?", 'such as "every day" or "every monday"')

    def _days(self) -> CronDays:
        by_date, by_weekday = self.dates or self.workdays, self.weekdays or self.nth_weekdays
        if (by_date and by_weekday) or (self.weekdays and self.nth_weekdays):
            raise ScheduleError(
                "a day of the month and a day of the week: which of them?",
                'say "every friday at 9am and the 13th of every month at 9am", or "every friday the 13th at 9am"',
            )
        dates = Dates(
            plain=mask_of([day for day in self.dates if day != LAST]),
            before_last=int(LAST in self.dates),
            near=mask_of([day for day in self.workdays if day != LAST]),
            last_workday=LAST in self.workdays,
        )
        nth = mask_of([8 * max(n, 0) + weekday for n, weekday in self.nth_weekdays])
        weekdays = Weekdays(mask_of(self.weekdays), nth)
        return CronDays(
            dates if by_date else EVERY_DATE,
            weekdays if by_weekday and weekdays.plain != EVERY_WEEKDAY.plain else EVERY_WEEKDAY,
            mask_of(self.months) or EVERY_MONTH,
            mask_of(year - YEAR.low for year in self.years) or EVERY_YEAR,
        )

    def _both_rule(self) -> str:
        """An RRULE for dates that fall on certain weekdays."""
        by_day = self.rate and self.rate.unit in ("day", "week")
        if by_day or self.counts_from_a_day or self.nth_weekdays or self.workdays:
            raise ScheduleError(
                "a date that must be a weekday needs every month", 'say "every friday the 13th"'
            )
        days = ",".join(_CODES[day] for day in sorted(set(self.weekdays)))
        return f"FREQ=MONTHLY;BYDAY={days};{self._by_month_day()}{self._by_month()}"

    def _rule(self) -> str:
        """Every n-th day, week, month or year, as an RRULE without its times."""
        if self.rate is None or self.workdays:
            raise ScheduleError(
                "only the first or last workday of every month can be named",
                'such as "last weekday of the month at 17:00"',
            )
        unit, days = self.rate.unit, ",".join(_CODES[day] for day in self.weekdays)
        interval = self.rate.number * (_MONTHS_IN[unit] if unit in ("month", "quarter") else 1)
        months = self._by_month()
        if unit == "day" and not (self.weekdays or self.nth_weekdays or self.dates):
            return f"FREQ=DAILY;INTERVAL={interval}{months}"
        if unit == "week" and days and not (self.nth_weekdays or self.dates):
            return f"FREQ=WEEKLY;INTERVAL={interval};BYDAY={days}{months}"
        if unit in ("month", "quarter") and not (self.weekdays or self.months):
            self._check_is_no_end(unit)
            return f"FREQ=MONTHLY;INTERVAL={interval};{self._days_of_month()}"
        if unit == "year" and self.months and not self.weekdays:
            return f"FREQ=YEARLY;INTERVAL={interval}{months};{self._days_of_month()}"
        raise ScheduleError(
            f"on which day of every {self.rate.number} {unit}s?",
            f'such as "every {self.rate.number} {_EXAMPLE[unit]}"',
        )

    def _check_is_no_end(self, unit: str) -> None:
        if unit == "quarter" and (LAST in self.dates or any(n == LAST for n, _ in self.nth_weekdays)):
            raise ScheduleError("of which months?", 'such as "last day of every quarter"')

    def _by_month(self) -> str:
        return f";BYMONTH={','.join(map(str, self.months))}" if self.months else ""

    def _by_month_day(self) -> str:
        return f"BYMONTHDAY={','.join(map(str, self.dates))}"

    def _days_of_month(self) -> str:
        if bool(self.dates) == bool(self.nth_weekdays):
            raise ScheduleError("on which day of the month?", 'such as "every 2 months on the 1st"')
        if self.dates:
            return self._by_month_day()
        return f"BYDAY={','.join(f'{n}{_CODES[day]}' for n, day in self.nth_weekdays)}"


_EXAMPLE = {
    "day": "days at 9am",
    "week": "weeks on monday",
    "month": "months on the 1st",
    "quarter": "quarters on the 1st",
    "year": "years on december 24",
}


def _an(unit: str) -> str:
    return f"an {unit}" if unit == "hour" else f"a {unit}"


def _over_midnight(seconds: int, start: int, end: int) -> str:
    before, after = (f"every {period_words(seconds)} between {part}" for part in (clock_text(start), "00:00"))
    rest = f" and {after} and {clock_text(end)}" if end else ""
    return f'split it at midnight: "{before} and 23:59{rest}"'


def group_times(times: list[int]) -> list[Times]:
    """Groups times of day into as few sets as possible, each with the same minutes and seconds in every hour."""
    by_hour: dict[int, set[int]] = {}
    for time in times:
        by_hour.setdefault(time // _HOUR, set()).add(time % _HOUR)
    grouped: dict[tuple[int, int], int] = {}
    for hour, rest in by_hour.items():
        for second in {time % _MINUTE for time in rest}:
            minutes = mask_of([time // _MINUTE for time in rest if time % _MINUTE == second])
            grouped[minutes, second] = grouped.get((minutes, second), 0) | 1 << hour
    return [Times(hours, minutes, 1 << second) for (minutes, second), hours in grouped.items()]


def _write_times(times: Times) -> str:
    names = zip(("BYHOUR", "BYMINUTE", "BYSECOND"), times, strict=True)
    return ";".join(f"{name}={','.join(str(n) for n in range(60) if mask >> n & 1)}" for name, mask in names)
