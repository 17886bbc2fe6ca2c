"""Logs failed and lost attempts in the server's log, with what happens to their executions next."""

from typing import Any

import msgspec
import structlog

from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.encode_job_target import task_of
from tickwork.model.errors import TIMEOUT, one_line
from tickwork.model.execution import AttemptOutcome, ExecutionStatus
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import execution_id, job_id, worker_id
from tickwork.model.transition_after_attempt import LockedExecution, Transition
from tickwork.model.worker import WITH_TARGET
from tickwork.model.worker_protocol import Outcome

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.record")


class FailedAttemptServerLog:
    def __init__(self) -> None:
        self._limit = LogRateLimit(_log.warning, "attempt failed")

    def log(self, execution: LockedExecution, outcome: Outcome, transition: Transition) -> None:
        if outcome.kind not in (AttemptOutcome.FAILED, AttemptOutcome.LOST):
            return
        kind = outcome.failure.type if outcome.failure else outcome.kind
        if self._limit.admits((execution.key.job_id, kind)):
            _log.warning(
                _event(outcome, transition), **_details(execution, outcome), **_next(execution, transition)
            )

    def close(self) -> None:
        self._limit.end_period()


def _event(outcome: Outcome, transition: Transition) -> str:
    then = "dead letter" if transition.status is ExecutionStatus.FAILED else "it is tried again"
    return f"{_happened(outcome)}; {then}"


def _happened(outcome: Outcome) -> str:
    if outcome.kind == AttemptOutcome.LOST:
        return (
            "attempt abandoned by its worker"
            if outcome.failure is None
            else "attempt lost by its HTTP target"
        )
    return "attempt timed out" if outcome.failure and outcome.failure.type == TIMEOUT else "attempt failed"


def _details(execution: LockedExecution, outcome: Outcome) -> dict[str, Any]:
    failure = outcome.failure
    job = msgspec.json.decode(execution.definition, type=JobRequest)
    details: dict[str, Any] = {
        "execution": execution_id(execution.key.job_id, execution.key.scheduled_for),
        "job": job_id(execution.key.job_id),
        "task": task_of(job),
        "attempt": execution.attempt,
    }
    if execution.worker_id != WITH_TARGET:
        details["worker"] = worker_id(execution.worker_id)
    return {**details, "error": one_line(failure.type, failure.message)} if failure else details


def _next(execution: LockedExecution, transition: Transition) -> dict[str, Any]:
    if transition.ready_at is None:
        return {"reason": transition.reason}
    return {"retry_in": f"{max((transition.ready_at - execution.now).total_seconds(), 0):.3g} s"}
