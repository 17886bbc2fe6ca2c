"""One instant, given as ISO 8601 text: with its offset from UTC, or as the clocks of a zone show it."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tickwork.schedule.due.epoch import LAST_YEAR, from_seconds
from tickwork.schedule.due.time_zone import Zone
from tickwork.schedule.errors import ScheduleError

_EXAMPLE = 'write it as "2026-12-24T18:00:00Z", or "2026-12-24 18:00" for local time'
_FIRST_YEAR = 1971  # by then it is 1970 or later in every time zone


class Moment(NamedTuple):
    at: datetime
    zone: Zone  # to show it in
    notes: tuple[str, ...] = ()  # how ambiguous words were read

    @property
    def words(self) -> str:
        local = self.at.astimezone(self.zone.info)
        pattern = "%a %Y-%m-%d %H:%M:%S" if local.second or local.microsecond else "%a %Y-%m-%d %H:%M"
        return f"once, {local.strftime(pattern)} ({self.zone.name})"


def read_instant(value: object, zone: Zone) -> datetime:
    """In UTC. A local time that a clock change skips means the moment of the change; a repeated one, its first time."""
    try:
        at = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None:
        raise ScheduleError(f"{str(value)[:80]!r} is not a date and time", _EXAMPLE)
    check_year(at)
    if at.tzinfo is not None:
        return at.astimezone(UTC)
    return from_seconds(zone.instant(at.replace(microsecond=0))) + timedelta(microseconds=at.microsecond)


def check_year(at: datetime) -> None:
    if not _FIRST_YEAR <= at.year <= LAST_YEAR:
        raise ScheduleError(
            f"the year {at.year} is out of range", f"use a year from {_FIRST_YEAR} to {LAST_YEAR}"
        )


def write_instant(at: datetime) -> str:
    return (
        at.astimezone(UTC)
        .isoformat(timespec="microseconds" if at.microsecond else "seconds")
        .replace("+00:00", "Z")
    )
