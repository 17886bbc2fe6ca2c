"""Days on which nothing is due: weekends, public holidays, dates."""

from datetime import date
from functools import cache, lru_cache
from typing import Any, NamedTuple

from tickwork.trigger.due.days import day_number, weekdays_of, whole_month
from tickwork.trigger.due.epoch import FIRST_DAY
from tickwork.trigger.misread import Misread

_WEEKEND = 1 << 0 | 1 << 6
_YEARS_KEPT = 2048


class Workdays(NamedTuple):
    """Every day but the excluded ones."""

    weekends: bool
    dates: frozenset[int]  # in days since 1970
    holidays: tuple[str, ...]

    def month(self, year: int, month: int) -> int:
        left = whole_month(year, month)
        if self.weekends:
            left &= ~weekdays_of(year, month, _WEEKEND)
        first = day_number(year, month, 1)
        for excluded in (self.dates, *(holidays_of(code, year) for code in self.holidays)):
            for day in range(left.bit_length() if excluded else 0):
                if first + day - 1 in excluded:
                    left &= ~(1 << day)
        return left


@lru_cache(_YEARS_KEPT)
def holidays_of(code: str, year: int) -> dict[int, str]:
    """The public holidays of a country (FR) or one of its regions (DE-BY): day since 1970 → name."""
    import holidays  # noqa: PLC0415 (slow to import, and only some schedules need it)

    country, _, region = code.partition("-")
    named = holidays.country_holidays(country, subdiv=region or None, years=year, language="en_US")
    return {day.toordinal() - FIRST_DAY: name for day, name in named.items()}


def check_country(code: object) -> str:
    """A country or region that holidays are known for."""
    known = _known_countries()
    country, dash, region = code.strip().partition("-") if isinstance(code, str) else ("", "", "")
    country = country.upper()
    region = next((name for name in known.get(country, ()) if name.lower() == region.lower()), region)
    if country not in known:
        raise Misread(
            f"no public holidays are known for {str(code)[:40]!r}",
            "use a country code such as FR or DE-BY",
        )
    if dash and region not in known[country]:
        regions = ", ".join(f"{country}-{name}" for name in sorted(known[country])[:8])
        raise Misread(
            f"{country} has no region {region[:40]!r}", f"use one of {regions}…" if regions else None
        )
    return f"{country}-{region}" if dash else country


@cache
def _known_countries() -> dict[str, list[str]]:
    import holidays  # noqa: PLC0415 (see above)

    return holidays.list_supported_countries(include_aliases=False)


def workdays_of(exclude: dict[str, Any]) -> Workdays:
    """From the canonical form."""
    dates = (
        date.fromisoformat(day).toordinal() - FIRST_DAY for day in exclude.get("dates", ()) if "T" not in day
    )
    return Workdays(exclude.get("weekends", False), frozenset(dates), tuple(exclude.get("holidays", ())))


def reason_excluded(exclude: dict[str, Any], day: int) -> str | None:
    """Why a day is left out, unless it is only for a weekend."""
    at = date.fromordinal(FIRST_DAY + day)
    if at.isoformat() in exclude.get("dates", ()):
        return "it is excluded"
    for code in exclude.get("holidays", ()):
        name = holidays_of(code, at.year).get(day)
        if name:
            return f"{name} ({code})"
    return None
