"""Waiting for something to end: the server answers when an execution has, and is asked again until then."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from math import inf
from time import monotonic

from tickwork.client import build_requests as call
from tickwork.client.http_exchange import Pause, Steps
from tickwork.model.backfill import BackfillView
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import ExecutionStatus, ExecutionView
from tickwork.model.job import JobStatus, JobView

_TURN = 20.0  # seconds that one request waits
_GROWING = (0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.5, 0.5)
_STEADY = 1.0
_SET_ASIDE = (ExecutionStatus.SKIPPED, ExecutionStatus.CANCELLED)


def wait_for_execution(execution_id: str, timeout: float | None = None) -> Steps[ExecutionView]:
    """The execution once it has ended. TimeoutError after so many seconds."""
    execution = yield from _until_ended(execution_id, _deadline(timeout))
    if execution.status.ended:
        return execution
    raise TimeoutError(f"execution {execution_id} has not ended within {timeout:g} seconds")


def wait_for_job(
    job_id: str, timeout: float | None = None, *, execution_id: str | None = None
) -> Steps[ExecutionView]:
    """The newest execution of the job once it has ended. TimeoutError after so many seconds. `execution_id`: that of a
    job that is due once, which saves looking for it."""
    ends = _deadline(timeout)
    if execution_id and (found := (yield from _its_execution(execution_id, ends))):
        return found
    over = False
    for pause in _pauses(ends):
        newest: list[ExecutionView] = (yield call.list_executions(job=job_id, limit=1)).items
        if newest and not newest[0].status.ended:
            newest = [(yield from _until_ended(newest[0].id, ends))]
        if newest and newest[0].status.ended:
            return newest[0]
        if not newest:
            if over:  # and was so before this look, so nothing can have begun in between
                raise Conflict(f"job {job_id} ended without an execution")
            job: JobView = yield call.get_job(job_id)
            over = job.status not in (JobStatus.ACTIVE, JobStatus.PAUSED)
        yield pause
    raise TimeoutError(f"job {job_id} has not ended within {timeout:g} seconds")


def wait_for_backfill(
    backfill_id: str, timeout: float | None = None, seen: Callable[[BackfillView], object] | None = None
) -> Steps[BackfillView]:
    """The backfill once it has ended; each look at it is shown to `seen`. TimeoutError after so many seconds."""
    for pause in _pauses(_deadline(timeout)):
        backfill: BackfillView = yield call.get_backfill(backfill_id)
        if seen:
            seen(backfill)
        if backfill.ended_at:
            return backfill
        yield pause
    raise TimeoutError(f"backfill {backfill_id} has not ended within {timeout:g} seconds")


def _its_execution(execution_id: str, ends: float) -> Steps[ExecutionView | None]:
    """None when there is none yet, or when it was set aside for another: the job may have been given another time."""
    try:
        execution = yield from _until_ended(execution_id, ends)
    except NotFound:
        return None
    return execution if execution.status.ended and execution.status not in _SET_ASIDE else None


def _until_ended(execution_id: str, ends: float) -> Steps[ExecutionView]:
    """The execution once it has ended, or as it is when the time is over."""
    for pause in _pauses(ends):
        began = monotonic()
        turn = min(_TURN, max(ends - began, 0.0))
        execution: ExecutionView = yield call.get_execution(execution_id, wait=turn)
        if execution.status.ended:
            return execution
        if monotonic() - began < turn / 2:  # no room to wait there, or the server is about to stop
            yield pause
    return execution


def _deadline(timeout: float | None) -> float:
    return inf if timeout is None else monotonic() + timeout


def _pauses(ends: float) -> Iterator[Pause]:
    """Pauses until the time is over, with a last look at the very end."""
    for seconds in chain(_GROWING, repeat(_STEADY)):
        left = ends - monotonic()
        yield Pause(min(seconds, max(left, 0)))
        if left <= 0:
            return
