"""What a node watches, and how it is watched itself: pings, heartbeat URLs, other nodes, and somebody outside."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

from tickwork.config import Settings
from tickwork.execute.call_heartbeat_url import HeartbeatCaller
from tickwork.execute.runners.http.ssrf_guard import AddressPolicy
from tickwork.loop import Loops
from tickwork.node_database import OpenDatabase
from tickwork.node_liveness_reports import REPORT_INTERVAL, Cluster
from tickwork.ping.define_receive_and_watch_pings import Pings
from tickwork.ping.report_cluster_to_outside_url import OutsidePing
from tickwork.record.call_heartbeat_urls_after_success import Heartbeats
from tickwork.store.heartbeat_url_call_store import PostgresHeartbeatStore, PostgresOutsidePingStore
from tickwork.store.node_report_and_database_state_store import PostgresClusterStore
from tickwork.store.ping_store import PostgresPingStore

# Seconds between the steps of a loop
_WATCH_INTERVAL = 0.5  # what stays away is told of within two seconds
_CALL_INTERVAL = 1
_REPORT_INTERVAL = 5


class Watches:
    def __init__(
        self,
        opened: OpenDatabase,
        settings: Settings,
        loops: Loops,
        health: Callable[[], Mapping[str, str | None]],
    ) -> None:
        """`health`: of this node."""
        database = opened.work
        policy = AddressPolicy.of(settings.http_allow, loopback=settings.http_allow_loopback)
        self._caller = HeartbeatCaller(policy)
        self._makes_calls = settings.http
        self._history = timedelta(days=settings.history_days)
        self.pings = Pings(PostgresPingStore(database))
        self.heartbeats = Heartbeats(PostgresHeartbeatStore(database), self._caller.call)
        self.outside_ping = OutsidePing(
            PostgresOutsidePingStore(database), self._caller.call, lambda: _is_well(health())
        )
        self.cluster = Cluster(
            opened.node_id,
            PostgresClusterStore(database),
            opened.clock,
            health,
            partial(loops.success_age, "fire"),
            opened.partitions.horizon,
            None if settings.database_url else settings.data_dir,
            opened.replica,
        )

    def add_loops(self, loops: Loops) -> None:
        loops.add("watch pings", self.pings.watch, every=_WATCH_INTERVAL, only_with_work=True)
        loops.add("delete old ping runs", partial(self.pings.delete_old_runs, self._history), every=600)
        loops.add("read heartbeats", self.heartbeats.read, every=1)
        loops.add("report node", self.cluster.report, every=REPORT_INTERVAL)
        if self._makes_calls:
            loops.add("call heartbeats", self.heartbeats.call_due, every=_CALL_INTERVAL)
            loops.add("report outside", self.outside_ping.report, every=_REPORT_INTERVAL)

    async def close(self) -> None:
        await self._caller.close()


def _is_well(health: Mapping[str, str | None]) -> bool:
    return all(problem is None for problem in health.values())
