"""A worker: a process that runs attempts, alive as long as its lease is renewed."""

from datetime import timedelta
from typing import Literal

import msgspec

from tickwork.model.field_types import Instant

LEASE = timedelta(seconds=15)  # a worker that sends no heartbeat for this long loses its executions
BEAT = timedelta(seconds=3)  # between two heartbeats
MARGIN = timedelta(seconds=3)  # a worker stops its attempts this long before its lease can expire
WITH_TARGET = 0  # stands for a worker where an HTTP target has the execution and reports by callback
MAX_LOSSES = 3  # an execution that lost this many workers is quarantined

WorkerStatus = Literal["online", "draining", "offline"]
WorkerProtocol = Literal["websocket", "rest"]


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as shown to users."""

    id: str
    name: str
    status: WorkerStatus
    protocol: WorkerProtocol
    host: str
    version: str
    tasks: list[str]
    queues: list[str]  # empty: all queues
    weights: dict[str, float]  # of its queues, where not 1
    slots: int
    holding: int
    labels: dict[str, str]
    resources: dict[str, float]
    resources_used: dict[str, float]
    started_at: Instant
    heartbeat_at: Instant  # the last one
    lease_until: Instant
    ended_at: Instant | None
