"""Durations, sizes and rates as people write them: "90s", "1h30m" or "PT5M"; "512Mi"; "10/s"."""

import re
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[wdhms])")
_ISO = re.compile(
    r"P(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)
_LONGEST_TEXT = 64
LONGEST = timedelta(days=3_660)


@lru_cache(maxsize=1024, typed=True)  # few distinct ones are used, and every job has four
def parse_duration(value: object) -> timedelta:
    """Read a duration; ValueError says what would be right."""
    seconds = _seconds(value)
    if seconds is None:
        raise ValueError(
            f'{str(value)[:80]!r} is not a duration; write "90s", "5m", "1h30m", "PT5M" or seconds'
        )
    if not 0 <= seconds <= LONGEST.total_seconds():
        raise ValueError("a duration is between 0 and 10 years")
    return timedelta(seconds=seconds)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, int | float):
        return float(value)
    text = value.strip()
    if not text or len(text) > _LONGEST_TEXT:
        return None
    if text[0] == "P":
        return _iso_seconds(text)
    try:
        return float(text) if text.replace(".", "", 1).isdigit() else _short_seconds(text.lower())
    except ValueError:
        return None


def _iso_seconds(text: str) -> float | None:
    match = _ISO.fullmatch(text)
    parts = {unit: number for unit, number in match.groupdict().items() if number} if match else {}
    return sum(float(number) * _UNITS[unit] for unit, number in parts.items()) if parts else None


def _short_seconds(text: str) -> float | None:
    if _SHORT.sub("", text).strip():
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _SHORT.findall(text))


def format_duration(duration: timedelta) -> str:
    """The shortest way to write it: 1h30m, 45s, 250ms."""
    left = round(duration.total_seconds() * 1000)
    text = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGTP]i?)?B?")
_PREFIXES = " KMGTP"  # each is a thousand times the one before


def parse_size(size: str | float) -> float:
    """Bytes; ValueError says what would be right."""
    if isinstance(size, (int, float)):
        return float(size)
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise ValueError(
            f'{size[:80]!r} is not a size; write a size such as "512Mi", "8Gi", "1.5G" or a number of bytes'
        )
    return float(match[1]) * _factor(match[2])


def _factor(unit: str | None) -> int:
    if unit is None:
        return 1
    thousand = 1024 if unit.endswith("i") else 1000
    factor: int = thousand ** _PREFIXES.index(unit[0])
    return factor


def format_size(size: float) -> str:
    """In the largest unit in which it is a whole number: 512Mi, 8Gi, 1500."""
    power = next((power for power in range(len(_PREFIXES) - 1, 0, -1) if size and size % 1024**power == 0), 0)
    return f"{size / 1024**power:.0f}" + (f"{_PREFIXES[power]}i" if power else "")


_RATE = re.compile(r"(\d{1,9})\s*/\s*(\S.{0,30})")
_LONGEST = timedelta(days=1)


class Rate(NamedTuple):
    amount: int
    per: timedelta

    @property
    def interval(self) -> timedelta:
        return self.per / self.amount


def parse_rate(text: str) -> Rate:
    """Read a rate; ValueError says what would be right."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise _wrong(text)
    try:
        per = parse_duration(f"1{match[2]}" if match[2].isalpha() else match[2])
    except ValueError:
        raise _wrong(text) from None
    if int(match[1]) == 0 or not per or per > _LONGEST:
        raise ValueError("a rate is at least 1 in a time of up to a day")
    return Rate(int(match[1]), per)


def _wrong(text: str) -> ValueError:
    return ValueError(
        f'{text[:80]!r} is not a rate; write how many in how long, such as "10/s", "100/1m" or "500/1h"'
    )
