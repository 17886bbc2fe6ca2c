"""Builds the requests of the REST API as plain values, for the sync and the async client alike."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeVar, Unpack

import msgspec

from tickwork.client.argument_types import JobFields
from tickwork.model.attempt_log import LogEntry
from tickwork.model.backfill import BackfillPlan, BackfillRequest, BackfillView, Order, Policy
from tickwork.model.checkpoint import CheckpointView
from tickwork.model.execution import (
    AttemptView,
    CountKind,
    ExecutionPage,
    ExecutionStatus,
    ExecutionStatusName,
    ExecutionView,
    MissedView,
    WaitingFor,
    WaitingForName,
)
from tickwork.model.field_types import Page
from tickwork.model.job import (
    CreatedJob,
    JobRequest,
    JobStatus,
    JobStatusName,
    JobView,
    Priority,
    RunningChoice,
)
from tickwork.model.job_change_record import JobChange
from tickwork.model.job_filter import JobCountKind, JobPage, Sort
from tickwork.model.job_graph import JobGraph
from tickwork.model.job_health import Health
from tickwork.model.overlap import Overlap
from tickwork.model.parsed_schedule_and_preview import Preview
from tickwork.model.past_attempt_input import ExecutionInput
from tickwork.model.purge_progress import PurgeView
from tickwork.model.why_waiting import Why

Answer = TypeVar("Answer")
Fields = Mapping[str, Any]


class Call(msgspec.Struct, Generic[Answer], frozen=True, kw_only=True):
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: tuple[str, ...]  # below /v1, not quoted
    answer: type[Answer]
    query: dict[str, str | list[str]] = {}
    headers: dict[str, str] = {}
    body: bytes | None = None
    repeatable: bool = True  # safe to send again after a lost answer
    waits: float = 0.0  # seconds that the server was asked to wait before it answers


def create_job(
    request: JobRequest | None = None, *, wait: float | None = None, **fields: Unpack[JobFields]
) -> Call[JobView]:
    """Create a job from a JobRequest or from its fields: task="report", payload={…}, schedule="0 9 * * *". With `wait`,
    up to 60 seconds, the server answers when the execution of a one-time job has ended, or after that time."""
    if request is not None and fields:
        raise TypeError("give a JobRequest or its fields, not both")
    return _waiting(wait, post("jobs", answer=JobView, body=fields if request is None else request))


def create_job_batch(body: bytes, *, idempotency_key: str | None = None) -> Call[Page[CreatedJob]]:
    """Create the jobs of one JSON array, all or none. Requests with the same key take effect once."""
    headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
    return Call(method="POST", path=("jobs", "batch"), answer=Page[CreatedJob], headers=headers, body=body)


def get_job(job_id: str) -> Call[JobView]:
    """The job as it is now."""
    return get("jobs", job_id, answer=JobView)


def list_jobs(
    *,
    status: JobStatus | JobStatusName | None = None,
    health: Health | None = None,
    task: str | None = None,
    queue: str | None = None,
    priority: Priority | None = None,
    tag: str | Sequence[str] | None = None,
    owner: str | None = None,
    recurring: bool | None = None,
    q: str | None = None,
    key: str | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    due_after: datetime | None = None,
    due_before: datetime | None = None,
    sort: Sort | None = None,
    count: JobCountKind | None = None,
    recent: int | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[JobPage]:
    """The jobs that match all filters, newest first. `task` may be a prefix, such as reports.*; of several tags, a job
    has all; `q` is words of the name, key, task, tags and description. With `recent`, each has so many of its latest
    runs as `recent_runs`."""
    return get("jobs", answer=JobPage, query=locals())


def edit_job(job_id: str, patch: Fields, *, if_match: int | None = None) -> Call[JobView]:
    """Change the fields in `patch`; None removes a field. With `if_match`, only if the job still has that version."""
    return Call(
        method="PATCH",
        path=("jobs", job_id),
        answer=JobView,
        headers={} if if_match is None else {"If-Match": f'"{if_match}"'},
        body=msgspec.json.encode(patch),
        repeatable=if_match is None,
    )


def cancel_job(job_id: str, *, running: RunningChoice = "leave") -> Call[JobView]:
    """Cancel the job: it has no further executions. With running="cancel", what runs of it is stopped, too."""
    query: dict[str, str | list[str]] = {} if running == "leave" else {"running": running}
    return Call(method="DELETE", path=("jobs", job_id), answer=JobView, query=query)


def purge_job(job_id: str, *, running: RunningChoice = "leave") -> Call[PurgeView]:
    """Delete the job and everything about it, for good. If that takes longer, it goes on after the answer."""
    return Call(
        method="DELETE",
        path=("jobs", job_id),
        answer=PurgeView,
        query={"purge": "true", "running": running},
    )


def get_purge(job_id: str) -> Call[PurgeView]:
    """How far the deletion of a job has come. The job is named by its id."""
    return get("jobs", job_id, "purge", answer=PurgeView)


def run_job(
    job_id: str, *, overlap: Overlap | None = None, worker: str | None = None, wait: float | None = None
) -> Call[ExecutionView]:
    """Run the job now, whatever its schedule, even if another execution has not ended, unless `overlap` says otherwise,
    and on the worker of this name if one is given. With `wait`, up to 60 seconds, the server answers when it has ended,
    or after that time."""
    body = given({"overlap": overlap, "worker": worker}) or None
    return _waiting(wait, post("jobs", job_id, "run", answer=ExecutionView, body=body))


def retry_job(job_id: str) -> Call[ExecutionView]:
    """Run the last failure of the job again."""
    return post("jobs", job_id, "retry", answer=ExecutionView)


def pause_job(job_id: str) -> Call[JobView]:
    """Pause the job: nothing of it starts until it is resumed."""
    return post("jobs", job_id, "pause", answer=JobView)


def resume_job(job_id: str) -> Call[JobView]:
    """Resume a paused job."""
    return post("jobs", job_id, "resume", answer=JobView)


def backfill_job(
    job_id: str,
    from_: datetime,
    to: datetime,
    *,
    order: Order = "oldest",
    max_active: int = 1,
    policy: Policy = "missing",
) -> Call[BackfillView]:
    """Run the job for its due times between `from_` and `to`, both included."""
    body = BackfillRequest(from_=from_, to=to, order=order, max_active=max_active, policy=policy)
    return post("jobs", job_id, "backfill", answer=BackfillView, body=body)


def plan_backfill(
    job_id: str, from_: datetime, to: datetime, *, policy: Policy = "missing"
) -> Call[BackfillPlan]:
    """What such a backfill would run, without running anything."""
    body = BackfillRequest(from_=from_, to=to, policy=policy, dry_run=True)
    return post("jobs", job_id, "backfill", answer=BackfillPlan, body=body)


def list_backfills(
    job_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[BackfillView]]:
    """The backfills of a job, newest first."""
    query = {"limit": limit, "cursor": cursor}
    return get("jobs", job_id, "backfills", answer=Page[BackfillView], query=query)


def get_backfill(backfill_id: str) -> Call[BackfillView]:
    """The backfill and its progress."""
    return get("backfills", backfill_id, answer=BackfillView)


def cancel_backfill(backfill_id: str) -> Call[BackfillView]:
    """Cancel the backfill: it starts nothing more. What is running continues."""
    return post("backfills", backfill_id, "cancel", answer=BackfillView)


def preview(
    schedule: str | Fields,
    *,
    timezone: str | None = None,
    after: datetime | None = None,
    count: int | None = None,
    viewer_timezone: str | None = None,
) -> Call[Preview]:
    """What a schedule means and when it would be due, without creating anything."""
    return post("schedules", "preview", answer=Preview, body=given(locals()))


def get_graph(job_id: str, *, limit: int | None = None) -> Call[JobGraph]:
    """The jobs that this one depends on and that depend on it, with their status: up to 1,000, or up to `limit`."""
    return get("jobs", job_id, "graph", answer=JobGraph, query={"limit": limit})


def list_job_changes(
    job_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[JobChange]]:
    """Who changed the job, when and which fields, latest first."""
    return get("jobs", job_id, "changes", answer=Page[JobChange], query={"limit": limit, "cursor": cursor})


def list_missed(job_id: str) -> Call[Page[MissedView]]:
    """The ranges of due times that a job missed, latest first."""
    return get("jobs", job_id, "missed", answer=Page[MissedView])


def list_executions(
    *,
    status: ExecutionStatus | ExecutionStatusName | None = None,
    waiting_for: WaitingFor | WaitingForName | None = None,
    error: str | None = None,
    timed_out: bool = False,
    retrying: bool = False,
    blocked: bool = False,
    not_taken: bool = False,
    job: str | None = None,
    task: str | None = None,
    queue: str | None = None,
    worker: str | None = None,
    tag: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    longer_than: timedelta | None = None,
    later_than: timedelta | None = None,
    count: CountKind | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[ExecutionPage]:
    """The executions that match all filters, newest first. A page that is neither full nor the last one says in
    `searched_until` how far it has looked."""
    given = locals()
    flags = {
        name: "true" if given[name] else None for name in ("timed_out", "retrying", "blocked", "not_taken")
    }
    return get("executions", answer=ExecutionPage, query={**given, **flags})


def get_execution(execution_id: str, *, wait: float | None = None) -> Call[ExecutionView]:
    """The execution as it is now. With `wait`, up to 60 seconds, it answers at the end or after that time."""
    return _waiting(wait, get("executions", execution_id, answer=ExecutionView))


def list_attempts(execution_id: str) -> Call[Page[AttemptView]]:
    """The attempts of an execution, oldest first."""
    return get("executions", execution_id, "attempts", answer=Page[AttemptView])


def execution_logs(
    execution_id: str,
    *,
    attempt: int | None = None,
    tail: int | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Page[LogEntry]]:
    """What the execution printed and logged, oldest first: everything, one attempt, or only the last lines."""
    query = {"attempt": attempt, "tail": tail, "limit": limit, "cursor": cursor}
    return get("executions", execution_id, "logs", answer=Page[LogEntry], query=query)


def follow_logs(execution_id: str, *, attempt: int | None, tail: int | None) -> Call[LogEntry]:
    query = {"attempt": attempt, "tail": tail, "follow": "true"}
    return get("executions", execution_id, "logs", answer=LogEntry, query=query)


def explain_execution(execution_id: str) -> Call[Why]:
    """Why the execution does not run, and when it will."""
    return get("executions", execution_id, "why", answer=Why)


def cancel_execution(execution_id: str) -> Call[ExecutionView]:
    """Cancel an execution: one that waits never starts, and one that runs is stopped."""
    return post("executions", execution_id, "cancel", answer=ExecutionView)


def retry_execution(
    execution_id: str, *, payload: Any | msgspec.UnsetType = msgspec.UNSET
) -> Call[ExecutionView]:
    """Run a failed or cancelled execution again: the same execution, with new attempts. With a payload, these get it
    instead of the job's."""
    body = None if payload is msgspec.UNSET else {"payload": payload}
    return post("executions", execution_id, "retry", answer=ExecutionView, body=body)


def get_execution_input(execution_id: str, *, attempt: int | None = None) -> Call[ExecutionInput]:
    """What an attempt ran with, or the latest one, also when the job was edited since."""
    return get("executions", execution_id, "input", answer=ExecutionInput, query={"attempt": attempt})


def get_checkpoint(execution_id: str) -> Call[CheckpointView]:
    """What the attempts of an execution have stored: steps that are done, and the latest state."""
    return get("executions", execution_id, "checkpoint", answer=CheckpointView)


def delete_checkpoint(execution_id: str) -> Call[CheckpointView]:
    """Delete what the attempts of an execution have stored, so that its next attempt starts from the beginning."""
    return Call(method="DELETE", path=("executions", execution_id, "checkpoint"), answer=CheckpointView)


def _waiting(seconds: float | None, call: Call[Answer]) -> Call[Answer]:
    if not seconds:
        return call
    return msgspec.structs.replace(call, query={**call.query, "wait": f"{seconds:.3f}s"}, waits=seconds)


def get(*path: str, answer: type[Answer], query: Fields | None = None) -> Call[Answer]:
    texts = {name: _query_value(value) for name, value in given(query or {}).items()}
    return Call(method="GET", path=path, answer=answer, query=texts)


def post(*path: str, answer: type[Answer], body: object = None, repeatable: bool = True) -> Call[Answer]:
    encoded = None if body is None else msgspec.json.encode(body)
    return Call(method="POST", path=path, answer=answer, body=encoded, repeatable=repeatable)


def given(fields: Fields) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _query_value(value: object) -> str | list[str]:
    """Several values are sent as several parameters."""
    if isinstance(value, list | tuple):
        return [_query_text(each) for each in value]
    return _query_text(value)


def _query_text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():.6f}"
        case _:
            return str(value)
