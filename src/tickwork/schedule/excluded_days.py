"""Days on which nothing is due: weekends, public holidays, dates."""

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from tickwork.schedule.cron.days import EVERY_MONTH
from tickwork.schedule.due.calendar_bit_masks import FIRST_DAY, Days, all_days_of, mask_of, weekdays_of
from tickwork.schedule.errors import ScheduleError

if TYPE_CHECKING:
    from holidays import HolidayBase

USUAL_WEEKEND = 1 << 0 | 1 << 6  # Sunday is bit 0
_CALENDARS_KEPT, _YEARS_KEPT, _DATES_KEPT = 64, 4096, 1024
_lock = Lock()  # backfills are planned in threads


class Workdays(NamedTuple):
    """Every day but the excluded ones."""

    weekends: bool
    dates: frozenset[int]  # in days since 1970
    holidays: tuple[str, ...]

    def months_of(self, _: int) -> int:
        return EVERY_MONTH

    def month(self, year: int, month: int) -> int:
        return self.without_excluded(all_days_of(year, month), year, month)

    def without_excluded(self, days: int, year: int, month: int) -> int:
        """The days without the excluded ones. Reads holidays, which is slow, only while days are left."""
        if self.weekends:
            days &= ~weekdays_of(year, month, weekend_of(self.holidays, year))
        if self.dates:
            days &= ~_dates_by_month(self.dates).get((year, month), 0)
        for code in self.holidays:
            if days:
                days &= ~_year_of(code, year).months[month]
        return days


class WorkdaysOf(NamedTuple):
    """The days of a set, without the excluded ones."""

    days: Days
    workdays: Workdays

    def months_of(self, year: int) -> int:
        return self.days.months_of(year)

    def month(self, year: int, month: int) -> int:
        found = self.days.month(year, month)
        return found and self.workdays.without_excluded(found, year, month)


class _Year(NamedTuple):
    names: dict[int, str]  # of the holidays: day since 1970 → name
    months: tuple[int, ...]  # the same days, bit n of the m-th being the n-th of that month


def weekend_of(codes: tuple[str, ...], year: int) -> int:
    """The weekdays that are a weekend in any of the countries whose holidays are excluded."""
    if not codes:
        return USUAL_WEEKEND
    weekend = 0
    for code in codes:
        weekend |= _weekend_in(code, year)
    return weekend


@lru_cache(_YEARS_KEPT)
def _year_of(code: str, year: int) -> _Year:
    """The public holidays of a country (FR) or one of its regions (DE-BY) in a year."""
    with _lock:
        calendar = _calendar(code)
        calendar.get(date(year, 1, 1))  # makes the library compute the year
        names = {day.toordinal() - FIRST_DAY: name for day, name in calendar.items()}
        calendar.clear()
        calendar.years.clear()
    months = _by_month(names)
    return _Year(names, tuple(months.get((year, month), 0) for month in range(13)))


@lru_cache(_YEARS_KEPT)
def _weekend_in(code: str, year: int) -> int:
    """Checks the first week of a year: since 2014, countries changed their weekend only at the start of a year."""
    first_week = [date(year, 1, day) for day in range(1, 8)]
    return mask_of(
        day.isoweekday() % 7 for day in first_week if _calendar(code, by_year=False).is_weekend(day)
    )


@lru_cache(_CALENDARS_KEPT)
def _calendar(code: str, *, by_year: bool = True) -> "HolidayBase":
    """Cached, because creating one is slower than reading a year from it. `by_year`: computes years on demand."""
    import holidays  # noqa: PLC0415 (slow to import, and only some schedules need it)

    country, _, region = code.partition("-")
    return holidays.country_holidays(country, subdiv=region or None, expand=by_year, language="en_US")


def load_calendars() -> None:
    """Import the library early, because that delays the first request by a tenth of a second."""
    _calendar("FR")


@lru_cache(_DATES_KEPT)
def _dates_by_month(days: frozenset[int]) -> dict[tuple[int, int], int]:
    return _by_month(days)


def _by_month(days: Iterable[int]) -> dict[tuple[int, int], int]:
    """Days since 1970 as masks: bit n stands for the n-th of that month."""
    masks: dict[tuple[int, int], int] = {}
    for day in days:
        at = date.fromordinal(FIRST_DAY + day)
        masks[at.year, at.month] = masks.get((at.year, at.month), 0) | 1 << at.day
    return masks


def check_country(code: object) -> str:
    """The code in its normal form. ScheduleError if no holidays are known for the country or region."""
    country, dash, region = code.strip().partition("-") if isinstance(code, str) else ("", "", "")
    country = country.upper()
    if country not in _countries():
        raise ScheduleError(
            f"no public holidays are known for {str(code)[:40]!r}",
            "use a country code such as FR or DE-BY",
        )
    known = _calendar(country).subdivisions
    region = next((name for name in known if name.lower() == region.lower()), region)
    if dash and region not in known:
        regions = ", ".join(f"{country}-{name}" for name in sorted(known)[:8])
        raise ScheduleError(
            f"{country} has no region {region[:40]!r}", f"use one of {regions}…" if regions else None
        )
    return f"{country}-{region}" if dash else country


@cache
def _countries() -> frozenset[str]:
    from holidays.registry import COUNTRIES  # noqa: PLC0415 (see above)

    return frozenset(names[1] for names in COUNTRIES.values())


def workdays_of(exclude: Mapping[str, Any]) -> Workdays:
    """From the canonical form."""
    dates = (
        date.fromisoformat(day).toordinal() - FIRST_DAY for day in exclude.get("dates", ()) if "T" not in day
    )
    return Workdays(exclude.get("weekends", False), frozenset(dates), tuple(exclude.get("holidays", ())))


def reason_excluded(exclude: Mapping[str, Any], day: int) -> str | None:
    """Why a day is excluded: a date or a holiday. None for weekends."""
    at = date.fromordinal(FIRST_DAY + day)
    if at.isoformat() in exclude.get("dates", ()):
        return "it is excluded"
    for code in exclude.get("holidays", ()):
        name = _year_of(code, at.year).names.get(day)
        if name:
            return f"{name} ({code})"
    return None
