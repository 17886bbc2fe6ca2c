"""A worker: a process that runs attempts, alive as long as its lease is renewed."""

from datetime import timedelta
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from tickwork.model.field_types import Instant

LEASE = timedelta(seconds=15)  # a worker that sends no heartbeat for this long loses its executions
BEAT = timedelta(seconds=3)  # between two heartbeats
MARGIN = timedelta(seconds=3)  # a worker stops its attempts this long before its lease can expire
WITH_TARGET = 0  # stands for a worker where an HTTP target has the execution and reports by callback
MAX_LOSSES = 3  # an execution that lost this many workers is quarantined

WorkerStatus = Literal["online", "draining", "offline"]
WorkerProtocol = Literal["websocket", "rest"]
WorkerSort = Literal["-started_at", "name"]  # the newest first, or by name

_MOST_CPUS = 100_000
_Bytes = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class WorkerLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker last measured of its machine and of its own process. What it cannot measure is left out."""

    cpu: Annotated[float, Meta(ge=0, le=1, description="share of the machine's CPUs in use")] | None = None
    memory_used: _Bytes | None = None
    memory_total: _Bytes | None = None
    disk_used: _Bytes | None = None
    disk_total: _Bytes | None = None
    process_cpu: (
        Annotated[float, Meta(ge=0, le=_MOST_CPUS, description="how many CPUs the worker itself uses")] | None
    ) = None
    process_memory: _Bytes | None = None

    def shares(self) -> dict[Literal["cpu", "memory", "disk"], float]:
        """How much of the machine is in use, as far as it was measured."""
        shares: dict[Literal["cpu", "memory", "disk"], float | None] = {
            "cpu": self.cpu,
            "memory": _share(self.memory_used, self.memory_total),
            "disk": _share(self.disk_used, self.disk_total),
        }
        return {name: share for name, share in shares.items() if share is not None}


def _share(used: int | None, total: int | None) -> float | None:
    return used / total if used is not None and total else None


class WorkerFilter(NamedTuple):
    """What the workers of a list have in common."""

    status: WorkerStatus | None = None
    queue: str | None = None  # that they serve
    task: str | None = None  # that they offer
    label: tuple[str, ...] = ()  # all of them: "region=eu", or "region" with any value
    host: str | None = None
    version: str | None = None
    q: str | None = None  # a part of the name, host, a task or a label
    sort: WorkerSort = "-started_at"

    @property
    def labels(self) -> dict[str, str]:
        return dict(label.split("=", 1) for label in self.label if "=" in label)

    @property
    def label_names(self) -> list[str]:
        """Of labels that may have any value."""
        return [label for label in self.label if "=" not in label]


EVERY_WORKER = WorkerFilter()


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as shown to users."""

    id: str
    name: str
    status: WorkerStatus
    protocol: WorkerProtocol
    host: str
    version: str
    tasks: list[str]
    commands: list[str] = []  # the patterns of the programs that it allows as commands
    queues: list[str]  # empty: all queues
    weights: dict[str, float]  # of its queues, where not 1
    slots: int
    holding: int
    labels: dict[str, str]
    resources: dict[str, float]
    resources_used: dict[str, float]
    load: WorkerLoad | None = None  # None: it measures nothing
    started_at: Instant
    heartbeat_at: Instant  # the last one
    lease_until: Instant
    ended_at: Instant | None
