"""Numbers and names as English puts them."""

from collections.abc import Iterable

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 0: "last", -1: "last"}
_TEENS = range(11, 14)


def listed(items: Iterable[object]) -> str:
    """1; 1 and 2; 1, 2 and 3."""
    *head, last = map(str, items)
    return f"{', '.join(head)} and {last}" if head else last


def ordinal(number: int) -> str:
    suffix = "th" if number in _TEENS else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def nth(number: int) -> str:
    return _NTH[number]


def clock(second: int) -> str:
    minutes, seconds = divmod(second, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")


def several(number: int, unit: str) -> str:
    """Every so many: minute; 5 minutes."""
    return unit if number == 1 else f"{number} {unit}s"


def period(seconds: int) -> str:
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds % length == 0:
            return several(seconds // length, unit)
    return several(seconds, "second")
