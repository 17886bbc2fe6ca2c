"""The metrics of executions and attempts that several stages count together, and their histogram."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from prometheus_client import REGISTRY, CollectorRegistry, Counter
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

from tickwork.model.execution import AttemptOutcome, ExecutionStatus

_MICROS = 1_000_000
SECONDS_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60, 600, 3600)


class BatchHistogram(Collector):
    """A Prometheus histogram that takes whole batches. Sorting a batch and looking up each bound once costs a small
    part of observing every value, so nothing is sampled."""

    def __init__(
        self,
        name: str,
        documentation: str,
        bounds: Sequence[float] = SECONDS_BOUNDS,
        registry: CollectorRegistry = REGISTRY,
    ) -> None:
        self._name = name
        self._documentation = documentation
        self._labels = [str(float(bound)) for bound in bounds]
        self._bounds = [round(bound * _MICROS) for bound in bounds]
        self._at_most = [0] * len(bounds)  # values that are at most each bound
        self._count = 0
        self._sum = 0  # microseconds
        registry.register(self)

    def add(self, micros: list[int]) -> None:
        """Count these durations. Sorts the list; what is below zero, because a clock was set back, counts as zero."""
        if not micros:
            return
        micros.sort()
        self._count += len(micros)
        self._sum += sum(micros if micros[0] >= 0 else micros[bisect_left(micros, 0) :])
        self._at_most = [
            before + bisect_right(micros, bound)
            for before, bound in zip(self._at_most, self._bounds, strict=True)
        ]

    def collect(self) -> Iterable[HistogramMetricFamily]:
        buckets = [*zip(self._labels, self._at_most, strict=True), ("+Inf", self._count)]
        yield HistogramMetricFamily(self._name, self._documentation, buckets, sum_value=self._sum / _MICROS)


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

# Once, and to be compared first: finding a member of an enumeration in its class or in a set is slow in Python 3.11.
COMPLETED = AttemptOutcome.COMPLETED
NOT_STARTED = frozenset({AttemptOutcome.RETURNED, AttemptOutcome.HELD})  # the code was not called
_RETRY_CAUSES = (AttemptOutcome.FAILED, AttemptOutcome.LOST)

for _status in ("completed", "failed", "cancelled", "skipped"):
    ENDED.labels(_status)
for _cause in _RETRY_CAUSES:
    _RETRIES.labels(_cause)


def count_after_attempt(outcome: AttemptOutcome, status: ExecutionStatus) -> None:
    """Count what followed an attempt that did not complete: the end of its execution, or another attempt. What was
    cancelled is counted by its event, like that which was cancelled before it started."""
    if status is ExecutionStatus.FAILED:
        ENDED.labels(status).inc()
    elif outcome in _RETRY_CAUSES:
        _RETRIES.labels(outcome).inc()
