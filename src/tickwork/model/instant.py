"""A moment as written on the wire: RFC 3339 with an offset, so that nobody has to guess the zone."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

Instant = Annotated[datetime, Meta(tz=True)]
FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


def to_utc(at: datetime) -> datetime:
    """In UTC, or the nearest instant that has a date there: an offset can lead out of the years 1 to 9999."""
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return FIRST if at.year == 1 else _LAST
