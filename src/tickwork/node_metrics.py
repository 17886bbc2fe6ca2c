"""Metrics of a node, read when they are scraped: its workers, its database, its disk, and the whole system."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from math import inf, nan
from pathlib import Path
from shutil import disk_usage
from time import monotonic
from typing import Literal

from prometheus_client import Gauge

from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.errors import Unavailable
from tickwork.model.public_ids import to_micros
from tickwork.store.port.dispatch import QueueStore
from tickwork.store.system_metrics_store import PostgresMetricStore

_CONNECTED = Gauge("tickwork_workers_connected", "Workers connected to this node.")
_SLOTS = Gauge("tickwork_slots", "Slots of the workers connected to this node.")
_SLOTS_USED = Gauge("tickwork_slots_used", "Slots of the workers connected to this node that are taken.")
_LOADS = {
    "cpu": Gauge("tickwork_connected_worker_cpu_ratio", "CPU in use on the machine of a worker.", ["worker"]),
    "memory": Gauge(
        "tickwork_connected_worker_memory_ratio", "Memory in use on the machine of a worker.", ["worker"]
    ),
    "disk": Gauge(
        "tickwork_connected_worker_disk_ratio", "Disk in use on the machine of a worker.", ["worker"]
    ),
}
_USABLE = Gauge("tickwork_database_usable", "1 if the database can be reached and takes writes, otherwise 0.")
_AHEAD = Gauge("tickwork_partitions_ahead_seconds", "For how long from now there are partitions.")
_DISK_FREE = Gauge("tickwork_disk_free_bytes", "Free space on the disk of the data folder.", ["disk"])
_DISK_SIZE = Gauge("tickwork_disk_size_bytes", "Size of the disk of the data folder.", ["disk"])

_INTERVAL = 10.0  # seconds, however often metrics are read
_MOST_TIME = 2.0  # seconds: a database that hangs must not keep the other metrics from Prometheus
_MOST_QUEUES = 200  # with a label of their own, because users choose the names
_MOST_WORKERS = 200  # likewise
_MOST_DEAD_LETTERS = 10_000  # counted

_FIRE_LAG = Gauge("tickwork_fire_lag_seconds", "How late the oldest rule is that is due and not fired.")
_EVENT_LAG = Gauge("tickwork_event_lag_seconds", "For how long the oldest event has not reached the stream.")
_NOTIFIER_LAG = Gauge(
    "tickwork_notifier_lag_seconds", "For how long the oldest event has waited for the notifier."
)
_DEAD_LETTERS = Gauge("tickwork_dead_letters_kept", "Dead letters that nobody has redriven or discarded.")
_WORKERS = Gauge("tickwork_workers_alive", "Workers with a lease, on all nodes.")
_KEY_EXPIRY = Gauge("tickwork_key_expiry_seconds", "Until the next API key in use expires.")
_SERVER_CONNECTIONS = Gauge(
    "tickwork_database_server_connections", "Connections to the database server, of everybody."
)
_SERVER_LIMIT = Gauge("tickwork_database_server_connections_limit", "Connections that the server allows.")
_DEPTH = Gauge("tickwork_queue_depth", "Executions that are due and wait in a queue.", ["queue"])
_OLDEST = Gauge(
    "tickwork_queue_oldest_age_seconds", "How long the oldest execution in a queue has waited.", ["queue"]
)


def show_workers(workers: ConnectedWorkers) -> None:
    _CONNECTED.set_function(lambda: len(workers))
    _SLOTS.set_function(lambda: workers.slots()[0])
    _SLOTS_USED.set_function(lambda: workers.slots()[1])


def show_loads(workers: ConnectedWorkers) -> None:
    """What workers last measured. Of workers with the same name, the last one counts."""
    measured = [(worker.name, worker.load) for worker in workers if worker.load][:_MOST_WORKERS]
    for gauge in _LOADS.values():
        gauge.clear()
    for name, load in measured:
        for kind, share in load.shares().items():
            _LOADS[kind].labels(name).set(share)


def show_database(
    usable: Callable[[], bool], horizon: Callable[[], datetime], now: Callable[[], int]
) -> None:
    """`horizon`: until when there are partitions; `now`: in microseconds."""
    _USABLE.set_function(usable)
    _AHEAD.set_function(lambda: to_micros(horizon()) / 1e6 - now() / 1e6)


def show_disk(folder: Path) -> None:
    _DISK_FREE.labels("data").set_function(lambda: _disk_bytes(folder, "free"))
    _DISK_SIZE.labels("data").set_function(lambda: _disk_bytes(folder, "total"))


def _disk_bytes(folder: Path, kind: Literal["free", "total"]) -> float:
    """Not a number if the folder cannot be read: that must not keep the other metrics from Prometheus."""
    try:
        return float(getattr(disk_usage(folder), kind))
    except OSError:
        return nan


class SystemMetrics:
    def __init__(self, metrics: PostgresMetricStore, queues: QueueStore, workers: ConnectedWorkers) -> None:
        self._metrics = metrics
        self._queues = queues
        self._workers = workers
        show_workers(workers)
        self._measure_from = 0.0
        self.read_at: datetime | None = None  # when somebody last read them

    async def measure(self) -> None:
        """Update the metrics, unless they are recent enough or the database is away or too slow."""
        self.read_at = datetime.now(UTC)
        if monotonic() < self._measure_from:
            return
        self._measure_from = monotonic() + _INTERVAL
        show_loads(self._workers)
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(_MOST_TIME):
                await self._measure_system()
                await self._measure_queues()

    async def _measure_system(self) -> None:
        state = await self._metrics.system_state(_MOST_DEAD_LETTERS)
        _FIRE_LAG.set(state.fire_lag)
        _EVENT_LAG.set(state.event_lag)
        _NOTIFIER_LAG.set(state.notifier_lag)
        _DEAD_LETTERS.set(state.dead_letters)
        _WORKERS.set(state.workers)
        _SERVER_CONNECTIONS.set(state.connections)
        _SERVER_LIMIT.set(state.connections_allowed)
        _KEY_EXPIRY.set(inf if state.key_expires_in is None else state.key_expires_in)

    async def _measure_queues(self) -> None:
        loads = await self._queues.loads(_MOST_QUEUES)
        _DEPTH.clear()
        _OLDEST.clear()
        for load in loads:
            _DEPTH.labels(load.name).set(load.depth)
            _OLDEST.labels(load.name).set(load.oldest_age)
