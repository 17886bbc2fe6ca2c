"""When simple schedules are due, by plain arithmetic over every second. Knows nothing of Tickwork's own way."""

from datetime import UTC, datetime, timedelta
from typing import Any

_SECOND = timedelta(seconds=1)


def due_times(schedule: dict[str, Any], begin: datetime, end: datetime) -> list[datetime]:
    """Of {"every": "5s", "start": …, "end": …}, {"cron": "*/7 * * * * *", …} and {"at": …}, in [begin, end)."""
    if "at" in schedule:
        at = datetime.fromisoformat(schedule["at"])
        return [at] if begin <= at < end else []
    first = datetime.fromisoformat(schedule["start"])
    last = datetime.fromisoformat(schedule["end"])
    seconds = int((min(last, end) - first) / _SECOND) + 1
    return [
        at
        for at in (first + number * _SECOND for number in range(seconds))
        if begin <= at < end and at <= last and _is_due(schedule, first, at)
    ]


def _is_due(schedule: dict[str, Any], first: datetime, at: datetime) -> bool:
    if "every" in schedule:
        return int((at - first) / _SECOND) % int(schedule["every"].removesuffix("s")) == 0
    step = schedule["cron"].split()[0].removeprefix("*/")
    return at.astimezone(UTC).second % int(step) == 0
