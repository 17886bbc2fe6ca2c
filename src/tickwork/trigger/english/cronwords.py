"""Days and times of day in plain English."""

from collections.abc import Sequence
from typing import NamedTuple

from tickwork.trigger.cronday import (
    EVERY_DATE,
    EVERY_MONTH,
    EVERY_WEEKDAY,
    EVERY_YEAR,
    CronDays,
    Dates,
    Weekdays,
)
from tickwork.trigger.due.epoch import DAY, END
from tickwork.trigger.due.times import EVERY_HOUR, EVERY_MINUTE, Times, bits, members
from tickwork.trigger.due.zone import Zone
from tickwork.trigger.english.names import MONTHS, WEEKDAYS, clock, listed, nth, ordinal, period, several
from tickwork.trigger.field import YEAR

_WORKDAYS, _WEEKEND = bits(range(1, 6)), bits([0, 6])
_GROUPS = {EVERY_WEEKDAY.plain: "day", _WORKDAYS: "weekday", _WEEKEND: "weekend day"}
_PLURALS = {_WORKDAYS: "weekdays", _WEEKEND: "weekends"}
_MOST_LISTED = 6
_HALF_A_YEAR = 183 * DAY
_MOST_TIMES = 1440


class TimeWords(NamedTuple):
    """A rate goes before the days ("every hour on weekdays"), the rest after ("every weekday at 09:00")."""

    text: str
    is_rate: bool


def cron_words(times: Sequence[Times], days: CronDays, zone: Zone) -> str:
    time = time_words(times)
    if not time.is_rate:
        return f"{_every_year(days)}{_days(days)} {time.text}"
    if days == CronDays():
        return f"{time.text}{_counted_from_midnight(times, zone)}"
    return f"{time.text} {_on_days(days)}"


def _every_year(days: CronDays) -> str:
    """One day of one month could be taken for one day."""
    by_month = days.dates != EVERY_DATE or days.weekdays.nth
    return "every year " if by_month and days.months.bit_count() == 1 and days.years == EVERY_YEAR else ""


def _counted_from_midnight(times: Sequence[Times], zone: Zone) -> str:
    """Every 2 hours alone would be a period, counted from midnight in UTC."""
    if sum(part.per_day for part in times) > _MOST_TIMES:
        return ""
    found = sorted({time for part in times for time in _clock_times(part)})
    step = found[1] - found[0]
    even = found == list(range(0, DAY, step)) and DAY % step == 0
    in_step = not any(zone.stretch(at).offset % step for at in (END - 1, END - _HALF_A_YEAR))
    return _between(found) if even and not in_step else ""


def time_words(times: Sequence[Times]) -> TimeWords:
    """Several sets of times, taken together."""
    if sum(part.per_day for part in times) > _MOST_TIMES:
        return TimeWords(" and ".join(_every_second(part) or _in_full(part) for part in times), is_rate=True)
    found = sorted({time for part in times for time in _clock_times(part)})
    if len(found) <= _MOST_LISTED:
        return TimeWords(f"at {listed(map(clock, found))}", is_rate=False)
    return TimeWords(_rate(found) or " and ".join(map(_in_full, times)), is_rate=True)


def _clock_times(times: Times) -> list[int]:
    return [
        hour * 3600 + minute * 60 + second
        for hour in members(times.hours)
        for minute in members(times.minutes)
        for second in members(times.seconds)
    ]


def _every_second(times: Times) -> str | None:
    seconds = members(times.seconds)
    if len(seconds) == 1:
        return None
    step = seconds[1] - seconds[0]
    even = 60 % step == 0 and seconds == list(range(0, 60, step))
    all_day = times.minutes == EVERY_MINUTE and times.hours == EVERY_HOUR
    return f"every {several(step, 'second')}" if even and all_day else None


def _rate(times: list[int]) -> str | None:
    """Every so often, all day or between two times; None when they are less even than that."""
    step = times[1] - times[0]
    if times == list(range(times[0], times[-1] + 1, step)):
        all_day = times[0] == 0 and times[-1] + step == DAY
        if all_day or step * len(times) < DAY:
            return f"every {period(step)}" + ("" if all_day else _between(times))
    minutes = sorted({time % 3600 // 60 for time in times})
    hours = range(times[0] // 3600, times[-1] // 3600 + 1)
    if (
        times != [hour * 3600 + minute * 60 for hour in hours for minute in minutes]
        or len(minutes) > _MOST_LISTED
    ):
        return None
    return f"every hour at minute {listed(minutes)}" + ("" if len(hours) == 24 else _between(times))  # noqa: PLR2004


def _between(times: list[int]) -> str:
    return f" between {clock(times[0])} and {clock(times[-1])}"


def _in_full(times: Times) -> str:
    seconds = "" if times.seconds == 1 else f"second {_numbers(times.seconds)} of "
    return f"at {seconds}minute {_numbers(times.minutes)} of hour {_numbers(times.hours)}"


def _numbers(mask: int) -> str:
    numbers = members(mask)
    if len(numbers) > _MOST_LISTED and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return listed(numbers)


def _days(days: CronDays) -> str:
    if days.either:
        return f"{_on_dates(days)} and {_every(days)}"
    if days.dates == EVERY_DATE:
        return _on_nth(days) if days.weekdays.nth else _every(days)
    both = "" if days.weekdays == EVERY_WEEKDAY else f", if it is {_weekday_names(days.weekdays)},"
    return _on_dates(days) + both


def _on_days(days: CronDays) -> str:
    words = _days(days)
    if days.dates != EVERY_DATE or days.weekdays.nth:
        return words
    if days.weekdays == EVERY_WEEKDAY:
        return words.removeprefix("every day ")
    plural = _PLURALS.get(days.weekdays.plain) or listed(f"{name}s" for name in _ordered(days.weekdays))
    return words.replace(f"every {_weekday_names(days.weekdays)}", f"on {plural}", 1)


def _every(days: CronDays) -> str:
    return f"every {_weekday_names(days.weekdays)}{_months(days, ' in ', '')}"


def _on_nth(days: CronDays) -> str:
    plain = (
        f"{_every(days._replace(weekdays=Weekdays(days.weekdays.plain)))} and " if days.weekdays.plain else ""
    )
    named = [f"the {nth(code // 8)} {WEEKDAYS[code % 8]}" for code in members(days.weekdays.nth)]
    return f"{plain}on {listed(named)}{_months(days, ' of ', ' of every month')}"


def _on_dates(days: CronDays) -> str:
    return f"on {_date_names(days.dates)}{_months(days, ' of ', ' of every month')}"


def _weekday_names(weekdays: Weekdays) -> str:
    if weekdays.plain in _GROUPS:
        return _GROUPS[weekdays.plain]
    named = [f"{nth(code // 8)} {WEEKDAYS[code % 8]}" for code in members(weekdays.nth)]
    return listed(_ordered(weekdays) + named)


def _ordered(weekdays: Weekdays) -> list[str]:
    """From Monday to Sunday."""
    return [WEEKDAYS[day] for day in sorted(members(weekdays.plain), key=lambda day: (day - 1) % 7)]


def _date_names(dates: Dates) -> str:
    names = [ordinal(day) for day in members(dates.plain)]
    names += [
        "first weekday" if day == 1 else f"weekday nearest to the {ordinal(day)}"
        for day in members(dates.near)
    ]
    names += [f"last day but {before}" if before else "last day" for before in members(dates.before_last)]
    return f"the {listed([*names, 'last weekday'] if dates.last_workday else names)}"


def _months(days: CronDays, before: str, otherwise: str) -> str:
    months = f"{before}{listed(MONTHS[month - 1] for month in members(days.months))}"
    years = f" {listed(YEAR.low + year for year in members(days.years))}" if days.years != EVERY_YEAR else ""
    if days.months == EVERY_MONTH:
        return f"{otherwise}{years and ' in'}{years}"
    return months + years
