"""The metrics of executions and attempts that several stages count together."""

from prometheus_client import Counter

from tickwork.batch_histogram import BatchHistogram
from tickwork.model.execution import AttemptOutcome, ExecutionStatus

ENDED = Counter("tickwork_executions_ended_total", "Executions that ended, by their status.", ["status"])
_RETRIES = Counter(
    "tickwork_retries_total",
    "Executions that wait for another attempt, by what ended the last one.",
    ["cause"],
)
START_DELAY = BatchHistogram(
    "tickwork_start_delay_seconds", "From when an attempt was allowed to start to its start."
)
RUN_TIME = BatchHistogram("tickwork_run_time_seconds", "From the start of an attempt to its end.")

NOT_STARTED = frozenset({AttemptOutcome.RETURNED, AttemptOutcome.HELD})  # the code was not called
_RETRY_CAUSES = (AttemptOutcome.FAILED, AttemptOutcome.LOST)

for _status in ("completed", "failed", "cancelled", "skipped"):
    ENDED.labels(_status)
for _cause in _RETRY_CAUSES:
    _RETRIES.labels(_cause)


def count_after_attempt(outcome: AttemptOutcome, status: ExecutionStatus) -> None:
    """Count what followed an attempt that did not complete: the end of its execution, or another attempt."""
    if status.ended:
        ENDED.labels(status).inc()
    elif outcome in _RETRY_CAUSES:
        _RETRIES.labels(outcome).inc()
