"""A queue as users see and set it: a named line that executions wait in, with its limits."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.model.errors import Invalid
from tickwork.model.job import Priority
from tickwork.model.quantities import Rate, parse_rate

DEPTH_LIMIT = 10_000  # a longer line is not counted to its end
MOST_BACKLOG = 100_000  # counted whenever something is created


class QueueSettings(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The limits of a queue, all of them: what is not named is not limited."""

    max_running: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    rate: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    max_backlog: Annotated[int, Meta(ge=1, le=MOST_BACKLOG)] | None = None

    def parsed_rate(self) -> Rate | None:
        try:
            return parse_rate(self.rate) if self.rate is not None else None
        except ValueError as error:
            raise Invalid.field("rate", str(error)) from None


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """A queue as shown to users."""

    name: str
    paused: bool
    max_running: int | None
    rate: str | None
    max_backlog: int | None
    depth: int  # due and waiting
    depth_is_exact: bool  # else there are more
    depth_by_priority: dict[Priority, int]  # counted from the highest on
    running: int
    oldest_age: float | None  # seconds since the oldest of those that wait could have started
