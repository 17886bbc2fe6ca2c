"""Builds the requests about what happened, what is coming and what is wrong, as plain values."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from tickwork.client.argument_types import DeadLetterFields
from tickwork.client.build_requests import Call, get, given, post
from tickwork.model.circuit_breaker import BreakerView
from tickwork.model.dead_letter import DeadLetterView, Discarded, Redriven
from tickwork.model.error_group import ErrorGroupView
from tickwork.model.field_types import Page
from tickwork.model.job_health import JobHealthView
from tickwork.model.overview import OverviewView
from tickwork.model.statistics import GroupBy, StatisticsSeries, Step
from tickwork.model.stream_event import StreamEvent
from tickwork.model.timeline import RowKind, TimelineView
from tickwork.model.upcoming import DueTimeCounts, DueTimePage
from tickwork.model.workflow_list import WorkflowView


def get_job_health(job_id: str) -> Call[JobHealthView]:
    """How the job is doing: its last run, failures in a row, success share, durations and next runs."""
    return get("jobs", job_id, "health", answer=JobHealthView)


def list_upcoming(
    *,
    begin: datetime | None = None,
    until: datetime | None = None,
    job: str | None = None,
    task: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[DueTimePage]:
    """The due times of all jobs, or of those that match, from `begin` (now) and before `until` (a day later), soonest
    first."""
    query = locals()
    return get("upcoming", answer=DueTimePage, query={"from": query.pop("begin")} | query)


def count_upcoming(
    step: timedelta,
    *,
    begin: datetime | None = None,
    until: datetime | None = None,
    job: str | None = None,
    task: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    by: GroupBy | None = None,
    timezone: str | None = None,
) -> Call[DueTimeCounts]:
    """How many due times there are in each step from `begin` (now) and before `until` (a day later), of all jobs or of
    those that match, or of each task or queue. Days begin at midnight in the time zone."""
    query = locals()
    return get("upcoming", answer=DueTimeCounts, query={"from": query.pop("begin")} | query)


def get_overview() -> Call[OverviewView]:
    """How things stand: what ran in the last 24 hours, what fails, what waits, and what comes next."""
    return get("overview", answer=OverviewView)


def get_timeline(
    *,
    begin: datetime | None = None,
    until: datetime | None = None,
    by: RowKind | None = None,
    rows: int | None = None,
) -> Call[TimelineView]:
    """What ran and what is due on one line of time, of the jobs or tasks that fail and of the busiest, beside the slots
    that it takes."""
    return get("timeline", answer=TimelineView, query={"from": begin, "until": until, "by": by, "rows": rows})


def list_events(
    *,
    kind: str | None = None,
    job: str | None = None,
    task: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Page[StreamEvent]]:
    """What happened, latest first. `kind` is one or more kinds, separated by commas; execution.* means all of these."""
    query = {
        "kind": kind,
        "job": job,
        "task": task,
        "queue": queue,
        "tag": tag,
        "limit": limit,
        "cursor": cursor,
    }
    return get("events", answer=Page[StreamEvent], query=query)


def follow_events(
    *,
    kind: str | None = None,
    job: str | None = None,
    task: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    after: int | None = None,
) -> Call[StreamEvent]:
    query = {
        "kind": kind,
        "job": job,
        "task": task,
        "queue": queue,
        "tag": tag,
        "after": after,
        "follow": "true",
    }
    return get("events", answer=StreamEvent, query=query)


def list_errors(
    *,
    task: str | None = None,
    error: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Page[ErrorGroupView]]:
    """Failures grouped by cause, the cause seen last first."""
    query = {"task": task, "error": error, "limit": limit, "cursor": cursor}
    return get("errors", answer=Page[ErrorGroupView], query=query)


def get_error(fingerprint: str) -> Call[ErrorGroupView]:
    """The failures of one cause."""
    return get("errors", fingerprint, answer=ErrorGroupView)


def redrive_error(fingerprint: str, *, rate: str | None = None, max: int | None = None) -> Call[Redriven]:  # noqa: A002
    """Run all dead letters of one cause again, for example at a rate of "100/1m"."""
    return post("errors", fingerprint, "redrive", answer=Redriven, body=given({"rate": rate, "max": max}))


def discard_error(fingerprint: str) -> Call[Discarded]:
    """Discard all dead letters of one cause. They stay in the history as failed."""
    return post("errors", fingerprint, "discard", answer=Discarded)


def get_stats(
    *,
    from_: datetime | None = None,
    until: datetime | None = None,
    step: Step | None = None,
    by: GroupBy | None = None,
    task: str | None = None,
    queue: str | None = None,
    job: str | None = None,
    tag: str | None = None,
    timezone: str | None = None,
) -> Call[StatisticsSeries]:
    """What happened to executions in each step between `from_` and `until`, by default in the last hour by minute. With
    `job` or `tag`, of their own executions, each in the step in which it was due. Days begin at midnight in the time
    zone."""
    query = locals()
    return get("stats", answer=StatisticsSeries, query={"from": query.pop("from_")} | query)


def list_workflows(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[WorkflowView]]:
    """One page of workflows, newest first, with the state of the latest round of each."""
    return get("workflows", answer=Page[WorkflowView], query={"limit": limit, "cursor": cursor})


def list_breakers() -> Call[Page[BreakerView]]:
    """The circuit breakers of destinations that failed recently."""
    return get("breakers", answer=Page[BreakerView])


def reset_breaker(destination: str) -> Call[BreakerView]:
    """Close the circuit breaker of a destination: the executions that it holds may start."""
    return post("breakers", "reset", answer=BreakerView, body={"destination": destination})


def list_dead_letters(
    *,
    task: str | None = None,
    queue: str | None = None,
    job: str | None = None,
    error: str | None = None,
    fingerprint: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Page[DeadLetterView]]:
    """The dead letters that match all filters, latest failure first. `since` and `until` bound the time of failure."""
    return get("dead-letters", answer=Page[DeadLetterView], query=locals())


def redrive_some(
    ids: Sequence[str] | None,
    filter: DeadLetterFields | None,  # noqa: A002 (its name in the API)
    rate: str | None,
    max: int,  # noqa: A002 (its name in the API)
    start_at: datetime | None,
) -> Call[Redriven]:
    """Redrive dead letters, as many as one request allows."""
    return post("dead-letters", "redrive", answer=Redriven, body=given(locals()))


def discard_dead_letters(
    ids: Sequence[str] | None = None,
    *,
    filter: DeadLetterFields | None = None,  # noqa: A002 (its name in the API)
) -> Call[Discarded]:
    """Discard dead letters: those with these ids, or all that match the filter ({} matches all)."""
    return post("dead-letters", "discard", answer=Discarded, body=given(locals()))
