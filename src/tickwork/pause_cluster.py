"""Whether the cluster is paused, as a node knows it. A pause is a row in the database: it holds for every node, and
outlives them all."""

import structlog
from prometheus_client import Gauge

from tickwork.loop import Loops
from tickwork.store.cluster_pause_store import ClusterState, PostgresClusterPauseStore
from tickwork.store.pool import Database

READ_INTERVAL = 1.0  # seconds
_PAUSED = Gauge("tickwork_cluster_paused", "1 while the cluster is paused: nothing fires or is handed over.")
_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class ClusterPause:
    def __init__(self, database: Database, loops: Loops) -> None:
        self._store = PostgresClusterPauseStore(database)
        self._loops = loops
        self.state = ClusterState(None, None, None)
        loops.add("read pause", self.read, every=READ_INTERVAL)

    def is_on(self) -> bool:
        return self._loops.paused

    async def read(self) -> bool:
        self.state = await self._store.read()
        paused = self.state.paused is not None
        if paused != self._loops.paused:
            _log.warning(
                "the cluster is paused: nothing fires or is handed over" if paused else "the cluster goes on"
            )
        self._loops.paused = paused
        _PAUSED.set(paused)
        return False

    async def pause(self, by: str, reason: str | None = None) -> None:
        """Does nothing if it is paused already. Other nodes notice within a second."""
        await self._store.pause(by, reason)
        await self.read()

    async def lift(self, by: str) -> None:
        await self._store.lift(by)
        await self.read()
