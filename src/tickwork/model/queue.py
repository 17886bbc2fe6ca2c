"""A queue as users see and set it: a name that jobs are grouped by, with its limits."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.model.errors import Invalid
from tickwork.model.job import Priority
from tickwork.model.quantities import Rate, parse_rate
from tickwork.model.retention import Retention, RetentionView

DEPTH_LIMIT = 10_000  # counting stops here
MOST_BACKLOG = 100_000  # the backlog is counted whenever an execution is created


class QueueSettings(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """All settings of a queue. What is left out is not limited, and the priority is `normal`."""

    max_running: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    rate: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    max_backlog: Annotated[int, Meta(ge=1, le=MOST_BACKLOG)] | None = None
    max_workers: (
        Annotated[
            int, Meta(ge=1, le=100_000, description="how many workers may have executions of it at once")
        ]
        | None
    ) = None
    priority: Annotated[
        Priority,
        Meta(description="which queues go first when workers are short, before the priority of jobs"),
    ] = "normal"
    retention: (
        Annotated[
            Retention,
            Meta(description="how much history is kept of each job of the queue that says nothing itself"),
        ]
        | None
    ) = None

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
    max_workers: int | None = None
    priority: Priority = "normal"
    retention: RetentionView | None = None  # for jobs that say nothing themselves
    depth: int  # executions that are due and wait
    depth_is_exact: bool  # false: there are more
    depth_by_priority: dict[Priority, int]  # from the highest, until counting stops
    running: int
    oldest_age: float | None  # seconds since the longest waiting execution became ready
