"""Durations as people write them: "90s", "5m", "1h30m", ISO 8601 ("PT5M", "P1W") or seconds."""

import re
from datetime import timedelta
from functools import lru_cache

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[wdhms])")
_ISO = re.compile(
    r"P(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)
_LONGEST_TEXT = 64
LONGEST = timedelta(days=3_660)


@lru_cache(maxsize=1024, typed=True)  # few are ever used, and every job has four
def parse_duration(value: object) -> timedelta:
    """Read a duration; ValueError says what would have been right."""
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
