"""Writes a canonical schedule in plain English."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tickwork.model.quantities import format_duration
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
from tickwork.schedule.cron.read_expression import read_cron
from tickwork.schedule.due.calendar_bit_masks import (
    DAY,
    END,
    EVERY_HOUR,
    EVERY_MINUTE,
    Times,
    from_seconds,
    mask_of,
    numbers_in,
    to_seconds,
)
from tickwork.schedule.due.next_due_time import WallClock
from tickwork.schedule.due.time_zone import Zone, zone_named
from tickwork.schedule.rrule.read_rule import RecurrenceRule, local_anchor, read_rule

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 0: "last", -1: "last"}
_TEENS = range(11, 14)


def join_with_and(items: Iterable[object]) -> str:
    """1; 1 and 2; 1, 2 and 3."""
    *head, last = map(str, items)
    return f"{', '.join(head)} and {last}" if head else last


def ordinal(number: int) -> str:
    suffix = "th" if number in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def nth(number: int) -> str:
    return _NTH[number]


def clock_text(second: int) -> str:
    minutes, seconds = divmod(second, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")


def count_with_unit(number: int, unit: str) -> str:
    """What follows "every": minute; 5 minutes."""
    return unit if number == 1 else f"{number} {unit}s"


def period_words(seconds: int) -> str:
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds % length == 0:
            return count_with_unit(seconds // length, unit)
    return count_with_unit(seconds, "second")


_WORKDAYS, _WEEKEND = mask_of(range(1, 6)), mask_of([0, 6])
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
    """So that a date with its month does not read as a single day."""
    by_month = days.dates != EVERY_DATE or days.weekdays.nth
    return "every year " if by_month and days.months.bit_count() == 1 and days.years == EVERY_YEAR else ""


def _counted_from_midnight(times: Sequence[Times], zone: Zone) -> str:
    """Adds the times of day if "every 2 hours" alone would mean a period, counted from midnight in UTC."""
    if sum(part.per_day for part in times) > _MOST_TIMES:
        return ""
    found = sorted({time for part in times for time in _clock_times(part)})
    step = found[1] - found[0]
    even = found == list(range(0, DAY, step)) and DAY % step == 0
    in_step = not any(zone.offset_period(at).offset % step for at in (END - 1, END - _HALF_A_YEAR))
    return _between(found) if even and not in_step else ""


def time_words(times: Sequence[Times]) -> TimeWords:
    """Several sets of times, taken together."""
    if sum(part.per_day for part in times) > _MOST_TIMES:
        return TimeWords(" and ".join(_every_second(part) or _in_full(part) for part in times), is_rate=True)
    found = sorted({time for part in times for time in _clock_times(part)})
    if len(found) <= _MOST_LISTED:
        return TimeWords(f"at {join_with_and(map(clock_text, found))}", is_rate=False)
    return TimeWords(_rate(found) or " and ".join(map(_in_full, times)), is_rate=True)


def _clock_times(times: Times) -> list[int]:
    minutes, seconds = numbers_in(times.minutes), numbers_in(times.seconds)
    return [
        hour * 3600 + minute * 60 + second
        for hour in numbers_in(times.hours)
        for minute in minutes
        for second in seconds
    ]


def _every_second(times: Times) -> str | None:
    seconds = numbers_in(times.seconds)
    if len(seconds) == 1:
        return None
    step = seconds[1] - seconds[0]
    even = 60 % step == 0 and seconds == list(range(0, 60, step))
    all_day = times.minutes == EVERY_MINUTE and times.hours == EVERY_HOUR
    return f"every {count_with_unit(step, 'second')}" if even and all_day else None


def _rate(times: list[int]) -> str | None:
    """A rate, all day or between two times; None when the times are not that regular."""
    step = times[1] - times[0]
    if times == list(range(times[0], times[-1] + 1, step)):
        all_day = times[0] == 0 and times[-1] + step == DAY
        if all_day or step * len(times) < DAY:
            return f"every {period_words(step)}" + ("" if all_day else _between(times))
    minutes = sorted({time % 3600 // 60 for time in times})
    hours = range(times[0] // 3600, times[-1] // 3600 + 1)
    if (
        times != [hour * 3600 + minute * 60 for hour in hours for minute in minutes]
        or len(minutes) > _MOST_LISTED
    ):
        return None
    return f"every hour at minute {join_with_and(minutes)}" + ("" if len(hours) == 24 else _between(times))  # noqa: PLR2004


def _between(times: list[int]) -> str:
    return f" between {clock_text(times[0])} and {clock_text(times[-1])}"


def _in_full(times: Times) -> str:
    seconds = "" if times.seconds == 1 else f"second {_numbers(times.seconds)} of "
    return f"at {seconds}minute {_numbers(times.minutes)} of hour {_numbers(times.hours)}"


def _numbers(mask: int) -> str:
    numbers = numbers_in(mask)
    if len(numbers) > _MOST_LISTED and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return join_with_and(numbers)


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
    plural = _PLURALS.get(days.weekdays.plain) or join_with_and(
        f"{name}s" for name in _ordered(days.weekdays)
    )
    return words.replace(f"every {_weekday_names(days.weekdays)}", f"on {plural}", 1)


def _every(days: CronDays) -> str:
    return f"every {_weekday_names(days.weekdays)}{_months(days, ' in ', '')}"


def _on_nth(days: CronDays) -> str:
    plain = (
        f"{_every(days._replace(weekdays=Weekdays(days.weekdays.plain)))} and " if days.weekdays.plain else ""
    )
    named = [f"the {nth(code // 8)} {WEEKDAYS[code % 8]}" for code in numbers_in(days.weekdays.nth)]
    return f"{plain}on {join_with_and(named)}{_months(days, ' of ', ' of every month')}"


def _on_dates(days: CronDays) -> str:
    return f"on {_date_names(days.dates)}{_months(days, ' of ', ' of every month')}"


def _weekday_names(weekdays: Weekdays) -> str:
    if weekdays.plain in _GROUPS:
        return _GROUPS[weekdays.plain]
    named = [f"{nth(code // 8)} {WEEKDAYS[code % 8]}" for code in numbers_in(weekdays.nth)]
    return join_with_and(_ordered(weekdays) + named)


def _ordered(weekdays: Weekdays) -> list[str]:
    """From Monday to Sunday."""
    return [WEEKDAYS[day] for day in sorted(numbers_in(weekdays.plain), key=lambda day: (day - 1) % 7)]


def _date_names(dates: Dates) -> str:
    names = [ordinal(day) for day in numbers_in(dates.plain)]
    names += [
        "first weekday" if day == 1 else f"weekday nearest to the {ordinal(day)}"
        for day in numbers_in(dates.near)
    ]
    names += [f"last day but {before}" if before else "last day" for before in numbers_in(dates.before_last)]
    return f"the {join_with_and([*names, 'last weekday'] if dates.last_workday else names)}"


def _months(days: CronDays, before: str, otherwise: str) -> str:
    months = f"{before}{join_with_and(MONTHS[month - 1] for month in numbers_in(days.months))}"
    years = (
        f" {join_with_and(YEAR.low + year for year in numbers_in(days.years))}"
        if days.years != EVERY_YEAR
        else ""
    )
    if days.months == EVERY_MONTH:
        return f"{otherwise}{years and ' in'}{years}"
    return months + years


_UNITS = {"YEARLY": "year", "MONTHLY": "month", "WEEKLY": "week", "DAILY": "day"}
_UNITS |= {"HOURLY": "hour", "MINUTELY": "minute", "SECONDLY": "second"}
_LOCAL = ("timezone", "start", "end")  # are shown in the time zone
_DST = {
    "next": "times the clocks skip run when they jump",
    "skip": "times the clocks skip do not run",
    "once": "times they show twice run once",
    "twice": "times they show twice run twice",
}


def describe(canonical: Mapping[str, Any]) -> str:
    parts = canonical.get("any", [canonical])
    zones = sorted({part.get("timezone", "UTC") for part in parts if not part.keys().isdisjoint(_LOCAL)})
    words = ", ".join([_describe_parts(parts), *_job_options(canonical)])
    return f"{words} ({join_with_and(zones)})" if zones else words


def _describe_parts(parts: Sequence[Mapping[str, Any]]) -> str:
    """Limits that all parts share come once, at the end. Semicolons separate parts that "and" would confuse."""
    described = [(_kind(same), ", ".join(_conditions(same[0]))) for same in _parts_by_days(parts)]
    limits = {limit for _, limit in described}
    clear = len(described) == 1 or not any(
        " and every " in kind or " and on " in kind for kind, _ in described
    )
    if len(limits) == 1 and clear:
        return ", ".join(filter(None, [" and ".join(kind for kind, _ in described), *limits]))
    return "; ".join(", ".join(filter(None, part)) for part in described)


def _parts_by_days(parts: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Groups the parts that have the same days, to list their times of day together."""
    same_days: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        if "cron" in part:
            days = read_cron(part["cron"]).days
            rest = {name: value for name, value in part.items() if name != "cron"}
            same_days.setdefault(repr((days, sorted(rest.items(), key=str))), []).append(part)
        else:
            same_days[repr(part)] = [part]
    yield from same_days.values()


def _conditions(canonical: Mapping[str, Any]) -> Iterator[str]:
    zone = zone_named(canonical.get("timezone", "UTC"))
    if "start" in canonical:
        yield f"starting {_local(_beginning(canonical, zone), zone)}"
    if "end" in canonical:
        yield f"until {_local(canonical['end'], zone)}"
    if "exclude" in canonical:
        yield f"except {join_with_and(_excluded(canonical['exclude'], zone))}"
    if "dst" in canonical:
        yield f"{_DST[canonical['dst']['gap']]} and {_DST[canonical['dst']['repeat']]}"


def _beginning(canonical: Mapping[str, Any], zone: Zone) -> str:
    """The start to show: "every 2 weeks on monday" starts on its first monday, where counting begins."""
    start: str = canonical["start"]
    if "rrule" not in canonical:
        return start
    at = to_seconds(datetime.fromisoformat(start))
    rule = read_rule(canonical["rrule"], local_anchor(at, zone))[0]
    if rule.times is None or rule.days.interval == 1:
        return start
    first = WallClock(zone, rule.days, rule.times, rule.dst).next_after(at - 1)
    return start if first is None else from_seconds(first).isoformat()


def _job_options(canonical: Mapping[str, Any]) -> Iterator[str]:
    if "max_runs" in canonical:
        yield "once in all" if canonical["max_runs"] == 1 else f"at most {canonical['max_runs']} times"
    if "jitter" in canonical:
        yield f"each up to {format_duration(timedelta(seconds=canonical['jitter']))} later"


def _kind(same: Sequence[Mapping[str, Any]]) -> str:
    canonical = same[0]
    if "every" in canonical:
        return f"every {period_words(canonical['every'])}"
    if "cron" in canonical:
        crons = [read_cron(part["cron"]) for part in same]
        return cron_words([cron.times for cron in crons], crons[0].days, zone_named(canonical["timezone"]))
    start = to_seconds(datetime.fromisoformat(canonical["start"])) if "start" in canonical else None
    anchor = local_anchor(start, zone_named(canonical["timezone"]))
    return _rule_words(read_rule(canonical["rrule"], anchor)[0])


def _rule_words(rule: RecurrenceRule) -> str:
    days = rule.days
    if days.positions or days.weeks or days.year_days:
        return f"by the rule {rule.text}"
    words = f"every {count_with_unit(days.interval, _UNITS[days.frequency])}"
    on = [WEEKDAYS[(day + 1) % 7] for day in sorted(days.weekdays)]
    on += [f"the {_nth(n)} {WEEKDAYS[(day + 1) % 7]}" for n, day in sorted(days.nth_weekdays)]
    dates = [
        f"the {ordinal(day) if day > 0 else _from_end(day)}"
        for day in sorted(days.dates, key=lambda d: d % 32)
    ]
    months = join_with_and(MONTHS[month - 1] for month in sorted(days.months)) if days.months else ""
    words += f" on {join_with_and(on)}" if on else ""
    words += f"{' that is' if on else ''} on {join_with_and(dates)}" if dates else ""
    words += f" of {months}" if months and (dates or days.nth_weekdays) else f" in {months}" if months else ""
    return f"{words} {time_words([rule.times]).text}" if rule.times else words


def _nth(number: int) -> str:
    if -1 <= number <= 5:  # noqa: PLR2004 (the named ones)
        return nth(number)
    return ordinal(number) if number > 0 else f"{ordinal(-number)} last"


def _from_end(day: int) -> str:
    return "last day" if day == -1 else f"{ordinal(-day)} last day"


def _excluded(exclude: Mapping[str, Any], zone: Zone) -> Iterator[str]:
    if exclude.get("weekends"):
        yield "weekends"
    if "holidays" in exclude:
        yield f"holidays in {join_with_and(exclude['holidays'])}"
    yield from (_local(day, zone) if "T" in day else day for day in exclude.get("dates", ()))


def _local(instant: str, zone: Zone) -> str:
    at = datetime.fromisoformat(instant).astimezone(zone.info)
    return at.strftime("%Y-%m-%d %H:%M:%S" if at.second else "%Y-%m-%d %H:%M")
