"""A line in the server's log for each attempt that failed or was lost, with how its execution goes on."""

from typing import Any

import msgspec
import structlog

from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.errors import TIMEOUT, one_line
from tickwork.model.execution import AttemptOutcome, ExecutionStatus
from tickwork.model.execution_lifecycle import LockedExecution, Transition
from tickwork.model.ids import execution_id, job_id, worker_id
from tickwork.model.job import HTTP_TASK, JobRequest
from tickwork.model.worker_protocol import Outcome

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.record")


class FailedAttemptLog:
    def __init__(self) -> None:
        self._limit = LogRateLimit(_log.warning, "attempt failed")

    def tell(self, held: LockedExecution, outcome: Outcome, verdict: Transition) -> None:
        if outcome.kind not in (AttemptOutcome.FAILED, AttemptOutcome.LOST):
            return
        kind = outcome.failure.type if outcome.failure else outcome.kind
        if self._limit.admits((held.key.job_id, kind)):
            _log.warning(_event(outcome, verdict), **_about(held, outcome), **_next(held, verdict))

    def close(self) -> None:
        self._limit.end_period()


def _event(outcome: Outcome, verdict: Transition) -> str:
    then = "dead letter" if verdict.status is ExecutionStatus.FAILED else "it is tried again"
    return f"{_happened(outcome)}; {then}"


def _happened(outcome: Outcome) -> str:
    if outcome.kind == AttemptOutcome.LOST:
        return "attempt broken off by its worker"
    return "attempt timed out" if outcome.failure and outcome.failure.type == TIMEOUT else "attempt failed"


def _about(held: LockedExecution, outcome: Outcome) -> dict[str, Any]:
    failure = outcome.failure
    job = msgspec.json.decode(held.definition, type=JobRequest)
    about = {
        "execution": execution_id(held.key.job_id, held.key.scheduled_for),
        "job": job_id(held.key.job_id),
        "task": job.task or HTTP_TASK,
        "attempt": held.attempt,
        "worker": worker_id(held.worker_id),
    }
    return {**about, "error": one_line(failure.type, failure.message)} if failure else about


def _next(held: LockedExecution, verdict: Transition) -> dict[str, Any]:
    if verdict.ready_at is None:
        return {"reason": verdict.reason}
    return {"retry_in": f"{max((verdict.ready_at - held.now).total_seconds(), 0):.3g} s"}
