"""/upcoming: what is due in a range of time, over all jobs."""

from datetime import timedelta
from math import ceil
from typing import Annotated

from msgspec import Meta, field

from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import DurationText, JobId, PageQuery, Text, parsed_duration, zone_of
from tickwork.api.route import Call, Route
from tickwork.model.access import Scope
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.field_types import Instant
from tickwork.model.statistics import GroupBy
from tickwork.model.upcoming import DueFilter, DueTimeCounts, DueTimePage

_SHORTEST_STEP = timedelta(seconds=1)
_MOST_STEPS = 1000


class UpcomingQuery(PageQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    begin: Annotated[Instant, Meta(description="due from this time; now if not given")] | None = field(
        name="from", default=None
    )
    until: Annotated[Instant, Meta(description="due before this time; a day later if not given")] | None = (
        None
    )
    job: JobId | None = None
    task: Text | None = None
    queue: Text | None = None
    tag: Annotated[Text, Meta(description="of jobs with this tag")] | None = None
    step: Annotated[DurationText, Meta(description="count the due times of each such step")] | None = None
    by: Annotated[GroupBy, Meta(description="with step: count each task or queue")] | None = None
    timezone: Annotated[Text, Meta(description="with step: the zone in which days begin")] | None = None


async def list_upcoming(call: Call[UpcomingQuery, None]) -> Reply:
    """List what is due in a range of time, over all jobs or those of a job, task, queue or tag, soonest first.

    Paused jobs are left out. With `step`, the answer counts the due times in each step instead, with `by` those of each
    task or queue, and with `timezone` in days and hours of that zone. `estimate` says that
    there are more jobs or due times than are counted one by one. `searched_until` says up to when an answer is
    complete, if it is not complete up to `until`.
    """
    query, upcoming = call.query, call.node.upcoming
    begin, until = await upcoming.range(query.begin, query.until)
    wanted = DueFilter(await call.job_in(query.job), query.task, query.queue, query.tag)
    step = parsed_duration("step", query.step)
    if step is None:
        _refuse_without_step(query)
        page = await upcoming.page(call.tenant_id, begin, until, query.limit, query.cursor, wanted)
        return json_reply(page)
    _check_step(step, until - begin)
    zone = zone_of(query.timezone)
    counts = await call.node.upcoming_counts.count(call.tenant_id, begin, until, step, query.by, zone, wanted)
    return json_reply(counts)


def _refuse_without_step(query: UpcomingQuery) -> None:
    names = [name for name in ("by", "timezone") if getattr(query, name) is not None]
    if names:
        raise Invalid([FieldError(name, "needs step", "add step=1h") for name in names])


def _check_step(step: timedelta, length: timedelta) -> None:
    shortest = max(_SHORTEST_STEP, length / _MOST_STEPS)
    if step < shortest:
        seconds = ceil(shortest.total_seconds())
        raise Invalid.field(
            "step", f"is too short for this range, of {_MOST_STEPS} steps", f"at least {seconds}s"
        )


ROUTES = (
    Route(
        "GET",
        "/v1/upcoming",
        list_upcoming,
        Scope.READ,
        DueTimePage,
        query=UpcomingQuery,
        also=((200, DueTimeCounts),),
        may_be_stale=True,
    ),
)
