"""The words for days, months, units and numbers."""

import re
from typing import NamedTuple

from tickwork.schedule.errors import ScheduleError

_WEEKDAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_ORDINAL_NAMES = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip

WEEKDAYS = {short: n for n, name in enumerate(_WEEKDAY_NAMES) for short in (name, name[:3], f"{name}s")}
WEEKDAYS |= {"tues": 2, "weds": 3, "thur": 4, "thurs": 4}
_WORKDAYS, _WEEKEND = (1, 2, 3, 4, 5), (6, 0)
WORKDAY_NAMES = ("workday", "workdays")
WEEKDAY_GROUPS: dict[str, tuple[int, ...]] = dict.fromkeys(("weekday", "weekdays", *WORKDAY_NAMES), _WORKDAYS)
WEEKDAY_GROUPS |= dict.fromkeys(("weekend", "weekends"), _WEEKEND)
MONTHS = {short: n for n, name in enumerate(_MONTH_NAMES, 1) for short in (name, name[:3])} | {"sept": 9}
LAST = -1
ORDINALS = {name: n for n, name in enumerate(_ORDINAL_NAMES, 1)} | {"thirtieth": 30, "last": LAST}
ARTICLES = ("a", "an")
RANGE_WORDS = ("to", "-", "through", "thru", "until", "till")
UNITS = {
    "second": "second", "sec": "second", "s": "second",
    "minute": "minute", "min": "minute", "m": "minute",
    "hour": "hour", "hr": "hour", "h": "hour",
    "day": "day", "d": "day",
    "week": "week", "wk": "week", "w": "week", "fortnight": "fortnight",
    "month": "month", "quarter": "quarter", "year": "year", "yr": "year",
}  # fmt: skip
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "fortnight": 1_209_600}
SUB_DAY_UNITS = ("second", "minute", "hour")
FREQUENCY_ADVERBS = {
    "minutely": "minute",
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "fortnightly": "fortnight",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
AMBIGUOUS_ADVERBS = {
    "biweekly": 'say "every 2 weeks on monday" or "every monday and thursday"',
    "semiweekly": 'say which days: "every monday and thursday"',
    "bimonthly": 'say "every 2 months on the 1st" or "on the 1st and 15th of every month"',
    "semimonthly": 'say which days: "on the 1st and 15th of every month"',
    "biannually": 'say "every 2 years on january 1" or "every 6 months on the 1st"',
    "semiannually": 'say which days: "every 6 months on the 1st"',
    "biennially": 'say which day: "every 2 years on january 1"',
}

_NTH = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)")
_COMPACT = re.compile(r"([0-9]{1,6})([a-z]+)")
_ISO = re.compile(r"p(?:[0-9]{1,6}[ymwd])*(?:t(?:[0-9]{1,6}[hms])+)?")
_ISO_PART = re.compile(r"([0-9]{1,6})([ymwdhs])")
_ISO_DATE = {"y": "year", "m": "month", "w": "week", "d": "day"}
_ISO_TIME = {"h": "hour", "m": "minute", "s": "second"}
_FRACTION = re.compile(r"[0-9]{1,4}\.[0-9]{1,3}")


class Amount(NamedTuple):
    number: int
    unit: str


def weekdays_from(first: int, last: int) -> tuple[int, ...]:
    """Friday to monday goes over the end of the week."""
    return tuple((first + day) % 7 for day in range((last - first) % 7 + 1))


def unit_of(word: str) -> str | None:
    return UNITS.get(word) or UNITS.get(word.removesuffix("s"))


def number_of(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 6 else None  # noqa: PLR2004


def ordinal_of(word: str) -> int | None:
    match = _NTH.fullmatch(word)
    return int(match[1]) if match else ORDINALS.get(word)


def fraction_of(word: str, unit: str) -> Amount | None:
    """1.5 hours, as whole seconds."""
    if not _FRACTION.fullmatch(word) or unit not in SECONDS:
        return None
    whole, _, part = word.partition(".")
    seconds, rest = divmod(int(whole + part) * SECONDS[unit], 10 ** len(part))
    if rest:
        raise ScheduleError(f"{word} {unit}s is not a whole number of seconds", 'such as "every 90 seconds"')
    return Amount(seconds, "second")


def compact_amounts(word: str) -> list[Amount] | None:
    """1h30m, 90s, 15min, PT5M."""
    if word.startswith("p"):
        return _iso_amounts(word)
    found = [(count, unit_of(unit)) for count, unit in _COMPACT.findall(word)]
    if not found or _COMPACT.sub("", word) or any(unit is None for _, unit in found):
        return None
    return [Amount(int(count), unit) for count, unit in found if unit]


def _iso_amounts(word: str) -> list[Amount] | None:
    if not _ISO.fullmatch(word):
        return None
    dated, _, timed = word[1:].partition("t")
    found = [Amount(int(count), _ISO_DATE[unit]) for count, unit in _ISO_PART.findall(dated)]
    found += [Amount(int(count), _ISO_TIME[unit]) for count, unit in _ISO_PART.findall(timed)]
    return found or None
