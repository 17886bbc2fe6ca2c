"""Logs failed attempts, with the traceback, in the worker's own log."""

import structlog

from tickwork.execute.attempt_ending import Ending
from tickwork.execute.attempt_state import Attempt
from tickwork.log_rate_limit import LogRateLimit
from tickwork.model.current_span_and_job_origin import trace_id_in
from tickwork.model.errors import TIMEOUT, one_line
from tickwork.model.execution import AttemptOutcome
from tickwork.model.public_ids import job_id

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.worker")


class FailedAttemptWorkerLog:
    def __init__(self) -> None:
        self._limit = LogRateLimit(_log.warning, "attempt failed")

    def log(self, attempt: Attempt, ending: Ending) -> None:
        failure = ending.failure
        if ending.kind is not AttemptOutcome.FAILED or failure is None:
            return
        if self._limit.admits((attempt.run.task, failure.type)):
            more = {"exception": failure.traceback.rstrip()} if failure.traceback else {}
            if attempt.run.traceparent:
                more["trace_id"] = trace_id_in(attempt.run.traceparent)
            _log.warning(
                "attempt timed out" if failure.type == TIMEOUT else "attempt failed",
                execution=attempt.execution_id,
                job=job_id(attempt.run.job),
                task=attempt.run.task,
                attempt=attempt.run.attempt,
                error=one_line(failure.type, failure.message),
                **more,
            )

    def close(self) -> None:
        self._limit.end_period()
