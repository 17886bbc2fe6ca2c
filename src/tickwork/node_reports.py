"""A node among others: it reports itself to the database every few seconds, and shows all that did.

This is for people only. Nothing depends on these reports: row locks coordinate nodes, whether they are listed or not.
"""

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_hex
from shutil import disk_usage

from tickwork import __version__
from tickwork.model.cluster import ClusterView, DiskView
from tickwork.model.errors import Unavailable
from tickwork.store.cluster_store import NodeReport, PostgresClusterStore
from tickwork.store.database_clock import DatabaseClock

REPORT_INTERVAL = 5.0  # seconds
_FORGET_AFTER = timedelta(hours=1)


class Cluster:
    def __init__(
        self,
        store: PostgresClusterStore,
        clock: DatabaseClock,
        health: Callable[[], Mapping[str, str | None]],
        partitions_until: Callable[[], datetime],
        embedded_folder: Path | None,
    ) -> None:
        """`embedded_folder`: the data folder, if the database is an embedded one."""
        self._store = store
        self._clock = clock
        self._health = health
        self._partitions_until = partitions_until
        self._embedded_folder = embedded_folder
        self._id = f"n{token_hex(6)}"
        self.address: str | None = None  # where this node answers

    async def report(self) -> bool:
        problems = [f"{name} {wrong}".strip() for name, wrong in self._health().items() if wrong is not None]
        node = NodeReport(
            id=self._id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            address=self.address,
            clock_skew=self._clock.skew,
            database_latency=self._clock.latency,
            problems=problems,
        )
        await self._store.report(node, _FORGET_AFTER)
        return False

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
        )

    def _disk(self) -> DiskView | None:
        if self._embedded_folder is None:
            return None
        usage = disk_usage(self._embedded_folder)
        return DiskView(free_bytes=usage.free, size_bytes=usage.total)
