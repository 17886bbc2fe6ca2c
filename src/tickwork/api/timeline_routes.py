"""/timeline: past, now and future of a few jobs or tasks, in one answer."""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, Route
from tickwork.model.access import Scope
from tickwork.model.field_types import Instant
from tickwork.model.timeline import MOST_ROWS, RowKind, TimelineView


class TimelineQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    begin: Annotated[Instant, Meta(description="six hours ago if not given")] | None = field(
        name="from", default=None
    )
    until: (
        Annotated[
            Instant, Meta(description="if not given, the future gets three parts for seven of the past")
        ]
        | None
    ) = None
    by: Annotated[RowKind, Meta(description="a row for each job or task; chosen if not given")] | None = None
    rows: Annotated[int, Meta(ge=1, le=MOST_ROWS, description="how many jobs or tasks")] = 12


async def get_timeline(call: Call[TimelineQuery, None]) -> Reply:
    """Show what ran and what is due on one line of time, beside the slots that it takes.

    The rows are the jobs, or the tasks, that fail, and then the busiest. Executions that are close together are one
    bar. Where most jobs run one time only, rows are tasks unless `by` says otherwise. The range is 40 days at most.
    `wanted` and `shortages` say how many slots of workers will be wanted at once, if executions take as long as they
    usually do.
    """
    query = call.query
    return json_reply(
        await call.node.timeline.view(call.tenant_id, query.begin, query.until, query.by, query.rows)
    )


ROUTES = (
    Route(
        "GET", "/v1/timeline", get_timeline, Scope.READ, TimelineView, query=TimelineQuery, may_be_stale=True
    ),
)
