"""Gauges of one node, read when they are scraped: its workers, its database and its disk."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from shutil import disk_usage

from prometheus_client import Gauge

from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.ids import to_micros

_CONNECTED = Gauge("tickwork_workers_connected", "Workers connected to this node.")
_SLOTS = Gauge("tickwork_slots", "Slots of the workers connected to this node.")
_SLOTS_USED = Gauge("tickwork_slots_used", "Slots of the workers connected to this node that are taken.")
_USABLE = Gauge("tickwork_database_usable", "1 if the database can be reached and takes writes, otherwise 0.")
_AHEAD = Gauge("tickwork_partitions_ahead_seconds", "For how long from now there are partitions.")
_DISK_FREE = Gauge("tickwork_disk_free_bytes", "Free space on the disk of the data folder.", ["disk"])
_DISK_SIZE = Gauge("tickwork_disk_size_bytes", "Size of the disk of the data folder.", ["disk"])


def show_workers(workers: ConnectedWorkers) -> None:
    _CONNECTED.set_function(lambda: len(workers))
    _SLOTS.set_function(lambda: workers.slots()[0])
    _SLOTS_USED.set_function(lambda: workers.slots()[1])


def show_database(
    usable: Callable[[], bool], horizon: Callable[[], datetime], now: Callable[[], int]
) -> None:
    """`horizon`: until when there are partitions; `now`: in microseconds."""
    _USABLE.set_function(usable)
    _AHEAD.set_function(lambda: to_micros(horizon()) / 1e6 - now() / 1e6)


def show_disk(folder: Path) -> None:
    _DISK_FREE.labels("data").set_function(lambda: disk_usage(folder).free)
    _DISK_SIZE.labels("data").set_function(lambda: disk_usage(folder).total)
