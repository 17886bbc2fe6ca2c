"""A worker: a process that runs attempts, alive as long as its lease is renewed."""

from datetime import timedelta
from typing import Any, Literal

import msgspec

from tickwork.model.instant import Instant

LEASE = timedelta(seconds=15)  # a worker not heard of for this long has lost what it held
BEAT = timedelta(seconds=3)  # how often a worker says that it lives
MARGIN = timedelta(seconds=3)  # a worker stops its work this much before its lease may end
MAX_LOSSES = 3  # workers one execution may take down before it is set aside

WorkerStatus = Literal["online", "draining", "offline"]
WorkerProtocol = Literal["websocket", "rest"]


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """A task as shown to users."""

    name: str
    parameters: dict[str, Any]  # JSON Schema of the payload
    description: str | None
    workers: list[str]
    defaults: dict[str, Any] = {}  # of jobs that do not say otherwise: priority, queue, timeout, retry


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as shown to users."""

    id: str
    name: str
    status: WorkerStatus
    protocol: WorkerProtocol
    host: str
    version: str
    tasks: list[str]
    queues: list[str]  # none: all of them
    weights: dict[str, float]  # of its queues, where that is not 1
    slots: int
    holding: int
    labels: dict[str, str]
    resources: dict[str, float]
    resources_used: dict[str, float]
    started_at: Instant
    heartbeat_at: Instant  # the last one
    lease_until: Instant
    ended_at: Instant | None
