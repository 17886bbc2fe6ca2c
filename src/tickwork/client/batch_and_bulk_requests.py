"""Creates, changes or redrives many at once, in as few requests as the server's limits allow."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from tickwork.client import build_monitoring_and_dead_letter_requests
from tickwork.client import build_requests as call
from tickwork.client.argument_types import DeadLetterFields, JobFields
from tickwork.client.request_retry_answer import Steps
from tickwork.model.bulk_action import (
    BulkCount,
    BulkExecutionsResult,
    BulkJobsResult,
    ExecutionAction,
    JobAction,
)
from tickwork.model.dead_letter import CHUNK, Redriven
from tickwork.model.job import CreatedJob, JobRequest, RunningChoice
from tickwork.model.quantities import parse_rate

LARGEST_BATCH = 10_000
_LARGEST_BODY = 32_000_000
_MOST_VALUES = 250_000  # the server counts commas and opening brackets


def create_jobs(jobs: Iterable[JobRequest | JobFields]) -> Steps[list[CreatedJob]]:
    """Create many jobs, up to 10,000 per request. Each request is all or nothing: if one fails, the jobs of those
    before it exist, and the error names the job by its position in the failed request."""
    created: list[CreatedJob] = []
    for body in _bodies(map(msgspec.json.encode, jobs)):
        page = yield call.create_job_batch(body)
        created += page.items
    return created


def _bodies(encoded: Iterable[bytes]) -> Iterator[bytes]:
    """Split the jobs into JSON arrays within the server's limits."""
    items: list[bytes] = []
    size = values = 0
    for item in encoded:
        size += len(item) + 1
        values += _values(item)
        if items and (len(items) == LARGEST_BATCH or size > _LARGEST_BODY or values > _MOST_VALUES):
            yield _array(items)
            items, size, values = [], len(item) + 1, _values(item)
        items.append(item)
    if items:
        yield _array(items)


def _values(item: bytes) -> int:
    """An upper bound of the server's count: this also counts the characters inside strings."""
    return item.count(b",") + item.count(b"{") + item.count(b"[") + 1


def _array(items: list[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"


def redrive_dead_letters(
    ids: Sequence[str] | None = None,
    *,
    filter: DeadLetterFields | None = None,  # noqa: A002 (its name in the API)
    rate: str | None = None,
    max: int | None = None,  # noqa: A002 (its name in the API)
    start_at: datetime | None = None,
) -> Steps[Redriven]:
    """Redrive dead letters: those with these ids, or all that match the filter ({} matches all). With a rate such as
    "100/1m" they become ready one after the other. An error does not undo what was redriven before it."""
    done: Redriven | None = None
    while True:
        asked = CHUNK if max is None else min(CHUNK, max - (done.redriven if done else 0))
        part: Redriven = yield build_monitoring_and_dead_letter_requests.redrive_some(
            ids, filter, rate, asked, start_at
        )
        done = _together(done, part)
        if ids is not None or part.redriven < asked or done.redriven == max:
            return done
        start_at = _next_start(part.last_at, rate)
        filter = {**(filter or {}), "until": part.as_of}  # noqa: A001 (what fails again in the meantime is left alone)


def _together(done: Redriven | None, part: Redriven) -> Redriven:
    """Add the counts. `not_found` and `refused` are complete in every answer."""
    if done is None:
        return part
    return Redriven(
        redriven=done.redriven + part.redriven,
        as_of=done.as_of,
        last_at=part.last_at or done.last_at,
        not_found=part.not_found,
        refused=part.refused,
    )


def _next_start(last_at: datetime | None, rate: str | None) -> datetime | None:
    return last_at + parse_rate(rate).interval if last_at and rate else None


def plan_bulk_jobs(
    action: JobAction,
    *,
    ids: Sequence[str] | None = None,
    filter: call.Fields | None = None,  # noqa: A002 (its name in the API)
    tags: Sequence[str] | None = None,
) -> call.Call[BulkCount]:
    """How many jobs an action would act on: those with these ids, or all that match the filters of list_jobs."""
    return call.post("jobs", "bulk", answer=BulkCount, body=call.given(locals()) | {"dry_run": True})


def bulk_jobs(
    action: JobAction,
    *,
    ids: Sequence[str] | None = None,
    filter: call.Fields | None = None,  # noqa: A002 (its name in the API)
    tags: Sequence[str] | None = None,
    running: RunningChoice | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> call.Call[BulkJobsResult]:
    """Run, pause, resume, cancel, tag or untag jobs: those with these ids, or those that match the filters of
    list_jobs, up to `limit` of them. Call it again with next_cursor until that is None. With running="cancel", what
    runs of jobs that are cancelled is stopped, too."""
    return call.post("jobs", "bulk", answer=BulkJobsResult, body=call.given(locals()))


def plan_bulk_executions(
    action: ExecutionAction,
    *,
    ids: Sequence[str] | None = None,
    filter: call.Fields | None = None,  # noqa: A002 (its name in the API)
) -> call.Call[BulkCount]:
    """How many executions an action would act on: those with these ids, or all that match the filters of
    list_executions."""
    return call.post("executions", "bulk", answer=BulkCount, body=call.given(locals()) | {"dry_run": True})


def bulk_executions(
    action: ExecutionAction,
    *,
    ids: Sequence[str] | None = None,
    filter: call.Fields | None = None,  # noqa: A002 (its name in the API)
    limit: int | None = None,
    cursor: str | None = None,
) -> call.Call[BulkExecutionsResult]:
    """Retry or cancel executions: those with these ids, or those that match the filters of list_executions,
    up to `limit` of them. Call it again with next_cursor until that is None."""
    return call.post("executions", "bulk", answer=BulkExecutionsResult, body=call.given(locals()))
