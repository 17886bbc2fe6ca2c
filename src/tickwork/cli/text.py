"""Values as people read them in a terminal."""

from datetime import UTC, datetime

import msgspec

from tickwork.model.failure_text import printable

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def brief(value: object) -> str:
    """In a list: one line, times as seen from now."""
    return " ".join(_text(value).split())


def full(value: object) -> str:
    """On its own: times in the zone of this machine too."""
    if isinstance(value, datetime):
        return f"{absolute(value)} ({_text(value)})"
    return _text(value)


def as_json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def absolute(at: datetime) -> str:
    return at.astimezone().isoformat(" ", "seconds")


def relative(at: datetime, now: datetime) -> str:
    seconds = round((at - now).total_seconds())
    if seconds == 0:
        return "now"
    unit, size = next((unit, size) for unit, size in _UNITS if abs(seconds) >= size)
    amount = f"{abs(seconds) // size}{unit}"
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return relative(value, datetime.now(UTC))
        case list() | tuple():
            return ", ".join(map(_text, value))
        case dict():
            return ", ".join(f"{name}={_text(item)}" for name, item in value.items())
        case _:
            return printable(str(value))  # names and errors are others' words
