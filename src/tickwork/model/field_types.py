"""Types that the fields of many requests and answers share."""

from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

# RFC 3339 with an offset, so that nobody has to guess the time zone.
Instant = Annotated[datetime, Meta(tz=True)]
EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)

# `quantities.parse_duration` reads it.
Duration = Annotated[
    str | float,
    Meta(description='a duration: "90s", "5m", "1h30m", "PT5M" or seconds', extra={"kind": "duration"}),
]
QueueName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="up to 100 letters, digits, dots, dashes and underscores; a letter or digit first",
    ),
]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
# Errors do not repeat it. *** stands for one that is stored.
Secret = Annotated[str, Meta(min_length=1, max_length=500, extra={"kind": "secret"})]
SecretUrl = Annotated[str, Meta(min_length=1, max_length=2048, extra={"kind": "secret"})]
Item = TypeVar("Item")


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """One page of a list, and the cursor of the next page."""

    items: list[Item]
    next_cursor: str | None = None


def to_utc(at: datetime) -> datetime:
    """The same instant in UTC, or the nearest one that UTC can show: an offset can lead out of the years 1 to 9999."""
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return EARLIEST if at.year == 1 else _LATEST
