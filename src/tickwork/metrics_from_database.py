"""Metrics about the whole system, which a node reads from the database when somebody asks for its metrics."""

import asyncio
from contextlib import suppress
from math import inf
from time import monotonic

from prometheus_client import Gauge

from tickwork.model.errors import Unavailable
from tickwork.store.port.dispatch import QueueStore
from tickwork.store.port.metric import MetricStore

_INTERVAL = 10.0  # seconds, however often metrics are read
_MOST_TIME = 2.0  # seconds: a database that hangs must not keep the other metrics from Prometheus
_MOST_QUEUES = 200  # with a label of their own, because users choose the names
_MOST_DEAD_LETTERS = 10_000  # counted

_FIRE_LAG = Gauge("tickwork_fire_lag_seconds", "How late the oldest rule is that is due and not fired.")
_EVENT_LAG = Gauge("tickwork_event_lag_seconds", "For how long the oldest event has not reached the stream.")
_DEAD_LETTERS = Gauge("tickwork_dead_letters_kept", "Dead letters that nobody has redriven or discarded.")
_WORKERS = Gauge("tickwork_workers_alive", "Workers with a lease, on all nodes.")
_KEY_EXPIRY = Gauge("tickwork_key_expiry_seconds", "Until the next API key in use expires.")
_DEPTH = Gauge("tickwork_queue_depth", "Executions that are due and wait in a queue.", ["queue"])
_OLDEST = Gauge(
    "tickwork_queue_oldest_age_seconds", "How long the oldest execution in a queue has waited.", ["queue"]
)


class SystemMetrics:
    def __init__(self, metrics: MetricStore, queues: QueueStore) -> None:
        self._metrics = metrics
        self._queues = queues
        self._measure_from = 0.0

    async def measure(self) -> None:
        """Update the metrics, unless they are recent enough or the database is away or too slow."""
        if monotonic() < self._measure_from:
            return
        self._measure_from = monotonic() + _INTERVAL
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(_MOST_TIME):
                await self._measure_system()
                await self._measure_queues()

    async def _measure_system(self) -> None:
        state = await self._metrics.system_state(_MOST_DEAD_LETTERS)
        _FIRE_LAG.set(state.fire_lag)
        _EVENT_LAG.set(state.event_lag)
        _DEAD_LETTERS.set(state.dead_letters)
        _WORKERS.set(state.workers)
        _KEY_EXPIRY.set(inf if state.key_expires_in is None else state.key_expires_in)

    async def _measure_queues(self) -> None:
        loads = await self._queues.loads(_MOST_QUEUES)
        _DEPTH.clear()
        _OLDEST.clear()
        for load in loads:
            _DEPTH.labels(load.name).set(load.depth)
            _OLDEST.labels(load.name).set(load.oldest_age)
