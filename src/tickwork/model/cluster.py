"""The cluster as operators see it: its nodes and its database."""

from typing import Literal

import msgspec

from tickwork.model.archive import ArchiveView
from tickwork.model.field_types import Instant

NodeStatus = Literal["ready", "unwell", "silent"]


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A server node, as it described itself when it was last seen."""

    id: str
    status: NodeStatus  # unwell: it has problems; silent: for 20 seconds it was not seen or did not fire
    host: str
    pid: int
    version: str
    # The newest migration that its version knows; null: the version of the server that answers does not say.
    schema_version: int | None = None
    address: str | None  # host and port where it answers
    started_at: Instant
    seen_at: Instant
    clock_skew: float  # seconds by which its clock is ahead of the database's
    database_latency: float  # seconds for a small query
    fired_at: Instant | None = (
        None  # when it last looked for what is due; null: an older version does not say
    )
    problems: list[str]  # what its /readyz says
    answers: bool  # it is the node that answered this request


class DatabaseView(msgspec.Struct, frozen=True, kw_only=True):
    """The PostgreSQL that all nodes share."""

    version: str
    embedded: bool
    size_bytes: int
    connections_used: int
    connections_allowed: int
    latency: float  # seconds for a small query, from the node that answered
    is_replica: bool
    replicas: int


class DiskView(msgspec.Struct, frozen=True, kw_only=True):
    """The disk of the data folder."""

    free_bytes: int
    size_bytes: int


class ReplicaView(msgspec.Struct, frozen=True, kw_only=True):
    """The replica that lists, statistics and exports are read from."""

    usable: bool  # otherwise the primary answers them
    lag: float | None  # seconds that it is behind
    problem: str | None  # why it is not used


class FailoverView(msgspec.Struct, frozen=True, kw_only=True):
    """A failover of the database, as nodes noticed it."""

    noticed_at: Instant
    wal_timeline: int  # the number that PostgreSQL gives to its history since then
    loss: Literal["none", "possible", "certain"]  # of commits that were answered
    lost_after: Instant | None  # commits after that may be lost
    first_attempt: (
        int  # executions that were due by then have attempts from this number on, unless the loss is none
    )


class PauseView(msgspec.Struct, frozen=True, kw_only=True):
    """Since when, by whom and why the cluster is paused: nothing fires, and nothing is handed over."""

    at: Instant
    by: str
    reason: str | None


class RestoreView(msgspec.Struct, frozen=True, kw_only=True):
    """When the database was prepared after a restore, and up to when it had data."""

    at: Instant
    data_until: Instant


class ClusterView(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes, and what they share."""

    nodes: list[NodeView]
    database: DatabaseView
    partitions_until: Instant  # executions that are due before have a partition
    zone_data: str | None  # the release of the time zone data that timers were computed with
    schema_version: int
    disk: DiskView | None  # with an embedded database only
    replica: ReplicaView | None = None  # with read_url only, as the node that answered sees it
    failovers: list[FailoverView] = []  # the latest of the database, newest first
    paused: PauseView | None = None
    restored: RestoreView | None = None  # the last time
    backed_up_at: Instant | None = None  # by `tickwork db backup`
    archive: ArchiveView | None = None  # with archive_url only
    metrics_read_at: Instant | None = None  # when somebody last read the metrics of the node that answered
