"""Metrics of messages to channels. Channels are no labels: users choose their names, and there may be any number."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter, Histogram

from tickwork.execute.attempt_ending import AttemptFailed, AttemptPostponed

_MESSAGES = Counter(
    "tickwork_channel_messages_total",
    "Messages sent to channels, by kind of channel and result.",
    ["kind", "result"],
)
_SECONDS = Histogram(
    "tickwork_channel_message_seconds",
    "How long it took to send a message to a channel.",
    ["kind"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


@contextmanager
def measured_message(kind: str) -> Iterator[None]:
    """Measure the sending of a message, which happens inside."""
    result = "stopped"
    try:
        with _SECONDS.labels(kind).time():
            yield
        result = "delivered"
    except AttemptFailed:
        result = "failed"
        raise
    except AttemptPostponed:
        result = "postponed"
        raise
    finally:
        _MESSAGES.labels(kind, result).inc()
