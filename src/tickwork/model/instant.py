"""A moment as written on the wire: RFC 3339 with an offset, so that nobody has to guess the zone."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

Instant = Annotated[datetime, Meta(tz=True)]
