"""Metrics of the worker in this process: a worker process serves them itself, a node those of its built-in worker."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from prometheus_client import Counter, Gauge

from tickwork.execute.attempt_state import Attempt
from tickwork.execution_metrics import COMPLETED, NOT_STARTED, BatchHistogram
from tickwork.model.worker_protocol import Outcome

_ATTEMPTS = Counter(
    "tickwork_worker_attempts_total", "Attempts of this worker that ended, by outcome.", ["outcome"]
)
_START_DELAY = BatchHistogram(
    "tickwork_worker_start_delay_seconds",
    "From when an attempt was allowed to start to its start on this worker.",
)
_RUN_TIME = BatchHistogram("tickwork_worker_run_time_seconds", "How long the attempts of this worker ran.")
_BLOCKED = Counter(
    "tickwork_worker_blocked_seconds_total",
    "For how long tasks kept this worker from sending its heartbeats.",
)
_CONNECTED = Gauge("tickwork_worker_connected", "1 while a server has accepted this worker, otherwise 0.")
_SLOTS = Gauge("tickwork_worker_slots", "Attempts that this worker may run at the same time.")
_SLOTS_USED = Gauge("tickwork_worker_slots_used", "Attempts that this worker runs.")
_PENDING = Gauge(
    "tickwork_worker_attempts_pending",
    "Attempts of this worker that wait, run, or ended and are not recorded yet.",
)


def report_worker(
    *, slots: int, running: Callable[[], int], pending: Callable[[], int], connected: Callable[[], bool]
) -> None:
    """Report the state of a worker as metrics. If there are several in a process, the last one counts."""
    _SLOTS.set(slots)
    _SLOTS_USED.set_function(running)
    _PENDING.set_function(pending)
    _CONNECTED.set_function(connected)


def count_blocked(seconds: float) -> None:
    _BLOCKED.inc(seconds)


CountEnded: TypeAlias = Callable[[Sequence[Outcome], Sequence[Attempt | None]], None]


def count_ended(outcomes: Sequence[Outcome], attempts: Sequence[Attempt | None]) -> None:
    """Count attempts whose outcomes a server has recorded; None for one that this worker has forgotten."""
    others = [outcome for outcome in outcomes if outcome.kind is not COMPLETED]
    _ATTEMPTS.labels("completed").inc(len(outcomes) - len(others))
    for outcome in others:
        _ATTEMPTS.labels(outcome.kind).inc()
    ran = [
        (outcome, attempt)
        for outcome, attempt in zip(outcomes, attempts, strict=True)
        if attempt and (outcome.kind is COMPLETED or outcome.kind not in NOT_STARTED)
    ]
    _START_DELAY.add([outcome.started - attempt.run.not_before for outcome, attempt in ran])
    _RUN_TIME.add([outcome.finished - outcome.started for outcome, _ in ran])
