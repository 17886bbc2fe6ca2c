"""Waiting for something to end: look again and again, first soon, then every second."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from time import monotonic

from tickwork.client import call
from tickwork.client.exchange import Pause, Steps
from tickwork.model.backfill import BackfillView
from tickwork.model.errors import Conflict
from tickwork.model.execution import ExecutionView
from tickwork.model.job import JobStatus, JobView

_GROWING = (0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.5, 0.5)
_STEADY = 1.0


def wait_for_execution(execution_id: str, timeout: float | None = None) -> Steps[ExecutionView]:
    """The execution once it has ended. TimeoutError after so many seconds."""
    for pause in _pauses(timeout):
        execution: ExecutionView = yield call.get_execution(execution_id)
        if execution.status.ended:
            return execution
        yield pause
    raise TimeoutError(f"execution {execution_id} has not ended within {timeout:g} seconds")


def wait_for_job(job_id: str, timeout: float | None = None) -> Steps[ExecutionView]:
    """The newest execution of the job once it has ended. TimeoutError after so many seconds."""
    over = False
    for pause in _pauses(timeout):
        newest: list[ExecutionView] = (yield call.list_executions(job=job_id, limit=1)).items
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
    for pause in _pauses(timeout):
        backfill: BackfillView = yield call.get_backfill(backfill_id)
        if seen:
            seen(backfill)
        if backfill.ended_at:
            return backfill
        yield pause
    raise TimeoutError(f"backfill {backfill_id} has not ended within {timeout:g} seconds")


def _pauses(timeout: float | None) -> Iterator[Pause]:
    """Pauses until the time is over, with a last look at the very end."""
    began = monotonic()
    for seconds in chain(_GROWING, repeat(_STEADY)):
        left = seconds if timeout is None else began + timeout - monotonic()
        yield Pause(min(seconds, max(left, 0)))
        if left <= 0:
            return
