"""A deadline: by when an execution should have ended, as a time of day in a zone or as a time after the due time."""

import re
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration

_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_SHORTEST, _LONGEST = timedelta(seconds=1), timedelta(days=366)


class Deadline(NamedTuple):
    after: timedelta | None  # the due time
    at: time | None  # of the day in `zone`
    zone: str = "UTC"

    def of(self, due: datetime) -> datetime:
        """The deadline of the execution with this due time: a time of day is the next one."""
        if self.at is None:
            return due + (self.after or timedelta(0))
        zone = ZoneInfo(self.zone)
        day = due.astimezone(zone).date()
        while True:
            deadline = datetime.combine(day, self.at, zone).astimezone(UTC)
            if deadline > due:
                return deadline
            day += timedelta(days=1)

    def text(self) -> str:
        """Equal deadlines have equal texts, so that their jobs share a lane."""
        return (
            f"{self.at:%H:%M} {self.zone}"
            if self.at
            else f"{(self.after or timedelta(0)).total_seconds():g} s"
        )


def parse_deadline(given: Duration, zone: str) -> Deadline:
    """Raises ValueError, which says what is wrong."""
    if isinstance(given, str) and ":" in given:
        found = _TIME_OF_DAY.fullmatch(given)
        if found is None:
            raise ValueError(f"{given!r} is not a time of day; write it as 06:00")
        return Deadline(None, time(int(found[1]), int(found[2])), zone)
    after = parse_duration(given)
    if not _SHORTEST <= after <= _LONGEST:
        raise ValueError(
            f"is between {_SHORTEST.total_seconds():g} s and {_LONGEST.days} days after the due time"
        )
    return Deadline(after, None)


@lru_cache(maxsize=1024)
def deadline_from_text(text: str) -> Deadline:
    value, _, unit = text.partition(" ")
    if unit == "s":
        return Deadline(timedelta(seconds=float(value)), None)
    return Deadline(None, time.fromisoformat(value), unit)
