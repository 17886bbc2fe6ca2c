"""/stats: what happened to executions over time, how often and how long it took."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import JobId, Text, zone_of
from tickwork.api.route import Call, Route
from tickwork.model.access import Scope
from tickwork.model.field_types import Instant
from tickwork.model.statistics import GroupBy, StatisticsSeries, Step


class StatsQuery(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"from_": "from"}
):
    from_: Instant | None = None
    until: Instant | None = None
    step: Step = "1m"
    by: GroupBy | None = None
    task: Text | None = None
    queue: Text | None = None
    job: JobId | None = None
    tag: Annotated[Text, Meta(description="of jobs with this tag")] | None = None
    timezone: Annotated[Text, Meta(description="the zone whose hours and days steps are")] | None = None


async def read_stats(call: Call[StatsQuery, None]) -> Reply:
    """Show statistics in steps of a minute, five minutes, an hour or a day.

    Without `from` and `until`: the last hour. Steps in which nothing happened are left out; `by` gives an item for each
    task or queue instead of one for all. Minutes are kept for 7 days, hours for 400 days and days for 10 years; a step
    can be no shorter than what is kept. With `timezone`, steps of an hour or a day are those of that zone. With
    `job` or `tag`, the numbers come from the executions themselves, each in the step in which it was due; beyond 60,000
    of them `complete_since` says from when on all are counted.
    """
    query = call.query
    job = await call.job_in(query.job)
    return json_reply(
        await call.node.statistics.series(
            call.tenant_id,
            query.from_,
            query.until,
            query.step,
            query.by,
            query.task,
            query.queue,
            job,
            query.tag,
            zone_of(query.timezone),
        )
    )


ROUTES = (
    Route("GET", "/v1/stats", read_stats, Scope.READ, StatisticsSeries, query=StatsQuery, may_be_stale=True),
)
