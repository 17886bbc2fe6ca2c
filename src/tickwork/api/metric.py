"""How many requests there were, and how long each took."""

from prometheus_client import Histogram

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_request_seconds = Histogram(
    "tickwork_http_request_seconds",
    "Time from the first byte of a request to the last byte of its answer.",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)


def observe(method: str, route: str, status: int, seconds: float) -> None:
    """Labels come from fixed sets, so that no client can make up new ones."""
    known = method if method in _METHODS else "other"
    _request_seconds.labels(known, route, str(status)).observe(seconds)
