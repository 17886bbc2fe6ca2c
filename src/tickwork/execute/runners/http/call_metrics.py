"""Metrics of the calls of HTTP jobs. Destinations are no labels: users choose them, and there may be any number."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from prometheus_client import Counter, Gauge, Histogram

from tickwork.execute.attempt_ending import AttemptAccepted, AttemptFailed, AttemptPostponed
from tickwork.model.errors import TIMEOUT
from tickwork.model.worker_protocol import Failure

_CALLS = Counter("tickwork_http_calls_total", "Calls of HTTP jobs, by result.", ["result"])
_SECONDS = Histogram(
    "tickwork_http_call_seconds",
    "From the start of a call of an HTTP job to the end of its answer.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
_IN_PROGRESS = Gauge("tickwork_http_calls_in_progress", "Calls of HTTP jobs that have not ended.")

_RESULTS = {
    TIMEOUT: "timeout",
    "ConnectTimeout": "unreachable",
    "DnsError": "unreachable",
    "TlsError": "unreachable",
    "ConnectError": "unreachable",
    "ConnectionLost": "broken",
    "BadResponse": "broken",
    "ResponseTooLarge": "broken",
    "AddressDenied": "denied",
}
_ANSWERS = {f"Http{number}xx": f"{number}xx" for number in range(1, 6)}
_OTHER = "other"


@contextmanager
def measured_call() -> Iterator[None]:
    """Measure a call, which happens inside."""
    began = perf_counter()
    result = "2xx"
    try:
        with _IN_PROGRESS.track_inprogress():
            yield
    except AttemptAccepted:
        raise
    except AttemptFailed as error:
        result = _result_of(error.failure)
        raise
    except AttemptPostponed:
        result = "postponed"
        raise
    except BaseException:
        result = "stopped"
        raise
    finally:
        _CALLS.labels(result).inc()
        _SECONDS.observe(perf_counter() - began)


def _result_of(failure: Failure) -> str:
    answer = _ANSWERS.get(failure.kinds[0]) if failure.kinds else None
    return answer or _RESULTS.get(failure.type, _OTHER)
