"""Sizes as people write them: "512Mi", "8Gi", "1.5G" or bytes."""

import re

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGTP]i?)?B?")
_PREFIXES = " KMGTP"  # each is a thousand of the one before


def parse_size(size: str | float) -> float:
    """Bytes; ValueError says what would have been right."""
    if isinstance(size, (int, float)):
        return float(size)
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise ValueError(
            f'{size[:80]!r} is not a size; write such as "512Mi", "8Gi", "1.5G" or a number of bytes'
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
