"""Waits for executions, jobs and backfills to end, by long polling."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from math import inf
from time import monotonic

from tickwork.client import build_requests as call
from tickwork.client.request_retry_answer import Pause, Steps
from tickwork.model.backfill import BackfillView
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.job import JobStatus, JobView

_LONG_POLL = 20.0  # seconds that the server may wait before it answers
_FIRST_PAUSES = (0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.5, 0.5)
_LATER_PAUSE = 1.0
_REPLACED = (ExecutionStatus.SKIPPED, ExecutionStatus.CANCELLED)


def wait_for_execution(execution_id: str, timeout: float | None = None) -> Steps[ExecutionView]:
    """Return the execution when it has ended. Raises TimeoutError after `timeout` seconds."""
    execution = yield from _until_ended(execution_id, _deadline(timeout))
    if execution.status.ended:
        return execution
    raise TimeoutError(f"execution {execution_id} has not ended within {timeout:g} seconds")


def wait_for_job(
    job_id: str, timeout: float | None = None, *, execution_id: str | None = None
) -> Steps[ExecutionView]:
    """Return the newest execution of the job when it has ended. Raises TimeoutError after `timeout` seconds. The
    `execution_id` of a one-time job saves a request."""
    deadline = _deadline(timeout)
    if execution_id and (found := (yield from _known_execution(execution_id, deadline))):
        return found
    job_over = False
    for pause in _pauses(deadline):
        newest: list[ExecutionView] = (yield call.list_executions(job=job_id, limit=1)).items
        if newest and not newest[0].status.ended:
            newest = [(yield from _until_ended(newest[0].id, deadline))]
        if newest and newest[0].status.ended:
            return newest[0]
        if not newest:
            if job_over:  # the job was over before this request, so no execution can follow
                raise Conflict(f"job {job_id} ended without an execution")
            job: JobView = yield call.get_job(job_id)
            job_over = job.status not in (JobStatus.ACTIVE, JobStatus.PAUSED)
        yield pause
    raise TimeoutError(f"job {job_id} has not ended within {timeout:g} seconds")


def wait_for_backfill(
    backfill_id: str, timeout: float | None = None, seen: Callable[[BackfillView], object] | None = None
) -> Steps[BackfillView]:
    """Return the backfill when it has ended. Calls `seen` with every state. Raises TimeoutError after `timeout` s."""
    for pause in _pauses(_deadline(timeout)):
        backfill: BackfillView = yield call.get_backfill(backfill_id)
        if seen:
            seen(backfill)
        if backfill.ended_at:
            return backfill
        yield pause
    raise TimeoutError(f"backfill {backfill_id} has not ended within {timeout:g} seconds")


def _known_execution(execution_id: str, deadline: float) -> Steps[ExecutionView | None]:
    """None if it does not exist yet, or was skipped or cancelled because the job has a new due time."""
    try:
        execution = yield from _until_ended(execution_id, deadline)
    except NotFound:
        return None
    return execution if execution.status.ended and execution.status not in _REPLACED else None


def _until_ended(execution_id: str, deadline: float) -> Steps[ExecutionView]:
    """The execution when it has ended, or as it is at the deadline."""
    for pause in _pauses(deadline):
        began = monotonic()
        wait = min(_LONG_POLL, max(deadline - began, 0.0))
        execution: ExecutionView = yield call.get_execution(execution_id, wait=wait)
        if execution.status.ended:
            return execution
        if monotonic() - began < wait / 2:  # the server has too many waiting requests, or is stopping
            yield pause
    return execution


def _deadline(timeout: float | None) -> float:
    return inf if timeout is None else monotonic() + timeout


def _pauses(deadline: float) -> Iterator[Pause]:
    """Pauses until the deadline, with a last request right at the end."""
    for seconds in chain(_FIRST_PAUSES, repeat(_LATER_PAUSE)):
        left = deadline - monotonic()
        yield Pause(min(seconds, max(left, 0)))
        if left <= 0:
            return
