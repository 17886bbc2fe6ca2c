"""The words people use for days, months, units and numbers."""

import re
from typing import NamedTuple

from tickwork.trigger.misread import Misread

_WEEKDAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_ORDINAL_NAMES = ("first", "second", "third", "fourth", "fifth")
_NUMBER_NAMES = (
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)

WEEKDAYS = {short: n for n, name in enumerate(_WEEKDAY_NAMES) for short in (name, name[:3], f"{name}s")}
WEEKDAYS |= {"tues": 2, "thur": 4, "thurs": 4}
_WORKDAYS, _WEEKEND = (1, 2, 3, 4, 5), (6, 0)
WEEKDAY_GROUPS: dict[str, tuple[int, ...]] = dict.fromkeys(
    ("weekday", "weekdays", "workday", "workdays"), _WORKDAYS
)
WEEKDAY_GROUPS |= dict.fromkeys(("weekend", "weekends"), _WEEKEND)
MONTHS = {short: n for n, name in enumerate(_MONTH_NAMES, 1) for short in (name, name[:3])} | {"sept": 9}
LAST = -1
ORDINALS = {name: n for n, name in enumerate(_ORDINAL_NAMES, 1)} | {"last": LAST}
NUMBERS = {name: n for n, name in enumerate(_NUMBER_NAMES, 1)} | {"a": 1, "an": 1}
UNITS = {
    "second": "second", "sec": "second", "s": "second",
    "minute": "minute", "min": "minute", "m": "minute",
    "hour": "hour", "hr": "hour", "h": "hour",
    "day": "day", "d": "day",
    "week": "week", "w": "week",
    "month": "month", "quarter": "quarter", "year": "year",
}  # fmt: skip
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
RATES = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annually": "year",
}

_NTH = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)")
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2})(?::([0-9]{2}))?)?(am|pm)?")
_COMPACT = re.compile(r"([0-9]{1,6})([a-z]+)")
_NAMED_TIMES = {"noon": 43_200, "midday": 43_200, "midnight": 0}
_HALF_DAY = 12


class Amount(NamedTuple):
    number: int
    unit: str


def unit_of(word: str) -> str | None:
    return UNITS.get(word) or UNITS.get(word.removesuffix("s"))


def number_of(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 6 else NUMBERS.get(word)  # noqa: PLR2004


def ordinal_of(word: str) -> int | None:
    match = _NTH.fullmatch(word)
    return int(match[1]) if match else ORDINALS.get(word)


def compact_amounts(word: str) -> list[Amount] | None:
    """1h30m, 90s, 15min."""
    found = [
        (count, UNITS.get(unit) or UNITS.get(unit.removesuffix("s")))
        for count, unit in _COMPACT.findall(word)
    ]
    if not found or _COMPACT.sub("", word) or any(unit is None for _, unit in found):
        return None
    return [Amount(int(count), unit) for count, unit in found if unit]


def time_of(word: str, following: str = "") -> int | None:
    """The second of the day for 9, 9am, 9:30, 17:00:30, noon; `following` may be the am or pm of "9 am"."""
    if word in _NAMED_TIMES:
        return _NAMED_TIMES[word]
    match = _CLOCK.fullmatch(word + following)
    if not match:
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if match[4]:
        if not 1 <= hour <= _HALF_DAY:
            raise Misread(f"{word + following!r} is not a time of day")
        hour = hour % _HALF_DAY + (_HALF_DAY if match[4] == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 (a clock)
        raise Misread(f"{word!r} is not a time of day")
    return hour * 3600 + minute * 60 + second
