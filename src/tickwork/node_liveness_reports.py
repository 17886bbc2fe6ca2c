"""A node among others: it reports itself to the database every few seconds, shows all that did, and tells of those
that fell silent.

This is for people only. Nothing depends on these reports: row locks coordinate nodes, whether they are listed or not.
"""

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import disk_usage

import structlog

from tickwork import __version__
from tickwork.model.cluster import ClusterView, DiskView
from tickwork.model.errors import Unavailable
from tickwork.store.database_clock import DatabaseClock
from tickwork.store.migration_file import migrations
from tickwork.store.node_report_and_database_state_store import (
    SILENT_AFTER,
    NodeReport,
    PostgresClusterStore,
    ReportTimes,
    SilentNodes,
)
from tickwork.store.read_replica import ReadReplica

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
REPORT_INTERVAL = 5.0  # seconds
_FORGET_AFTER = timedelta(hours=1)
_REPLACED_AFTER = timedelta(seconds=2 * REPORT_INTERVAL)  # without a report, if another node has its address
_BEGIN = datetime.min.replace(tzinfo=UTC)


class Cluster:
    def __init__(
        self,
        node_id: str,
        store: PostgresClusterStore,
        clock: DatabaseClock,
        health: Callable[[], Mapping[str, str | None]],
        fire_age: Callable[[], float],
        partitions_until: Callable[[], datetime],
        embedded_folder: Path | None,
        replica: ReadReplica | None = None,
    ) -> None:
        """`fire_age`: seconds since this node's loop that fires last worked. `embedded_folder`: the data folder, if the
        database is an embedded one."""
        self._store = store
        self._clock = clock
        self._health = health
        self._fire_age = fire_age
        self._judges_from = _BEGIN
        self._partitions_until = partitions_until
        self._embedded_folder = embedded_folder
        self._replica = replica
        self._id = node_id
        self.address: str | None = None  # where this node answers

    async def report(self) -> bool:
        problems = [f"{name} {wrong}".strip() for name, wrong in self._health().items() if wrong is not None]
        node = NodeReport(
            id=self._id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            schema_version=migrations()[-1].number,
            address=self.address,
            clock_skew=self._clock.skew,
            database_latency=self._clock.latency,
            fire_age=self._fire_age(),
            problems=problems,
        )
        reported = await self._store.report(node, _FORGET_AFTER, _REPLACED_AFTER)
        if self._may_judge(reported):
            _log_silent(await self._store.tell_silent(self._id))
        return False

    def _may_judge(self, reported: ReportTimes) -> bool:
        """After an outage of the database, or a jump of its clock, the others need time to report themselves, too."""
        if reported.before is None or abs(reported.now - reported.before) > _REPLACED_AFTER:
            self._judges_from = reported.now + SILENT_AFTER
        return reported.now >= self._judges_from

    async def leave(self) -> None:
        with suppress(Unavailable):  # then the row stays until it is old
            await self._store.leave(self._id)

    async def view(self) -> ClusterView:
        state = await self._store.database_state(self._clock.latency, self._embedded_folder is not None)
        return ClusterView(
            nodes=await self._store.nodes(self._id),
            database=state.view,
            partitions_until=self._partitions_until(),
            zone_data=state.zone_data,
            schema_version=state.schema_version,
            disk=self._disk(),
            replica=self._replica.view() if self._replica else None,
            failovers=await self._store.failovers(),
        )

    def _disk(self) -> DiskView | None:
        if self._embedded_folder is None:
            return None
        usage = disk_usage(self._embedded_folder)
        return DiskView(free_bytes=usage.free, size_bytes=usage.total)


def _log_silent(nodes: SilentNodes) -> None:
    for node in nodes.silent:
        _log.warning("another node fires nothing", node=node)
    for node in nodes.back:
        _log.info("a node fires again", node=node)
