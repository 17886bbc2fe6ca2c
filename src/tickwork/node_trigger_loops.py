"""The loops of a node that make executions: firing, backfills, what waits or was deferred, new zone data."""

from tickwork.loop import Loops, Wake
from tickwork.ping.define_receive_and_watch_pings import Pings
from tickwork.store.backfill_store import PostgresBackfillStore
from tickwork.store.partitions_and_retention import Partitions
from tickwork.store.pool import Database
from tickwork.store.trigger_store import PostgresTriggerStore
from tickwork.store.write_dependencies import PostgresDependencyStore
from tickwork.trigger.fill_backfill import Backfiller
from tickwork.trigger.fire import LEAD, Trigger
from tickwork.trigger.queue_full import FullQueues
from tickwork.trigger.waiting_executions import WaitingExecutions
from tickwork.trigger.zone_data_update import ZoneDataUpdate

TICK = 0.05  # seconds; shorter than the lead, so that executions are handed over before they are due
_WHEN_WOKEN = 3600.0
_BACKFILL_INTERVAL = 0.5


def add_fire_loops(loops: Loops, trigger: Trigger, full_queues: FullQueues) -> None:
    loops.add("fire", trigger.fire, every=TICK)
    loops.add("fire in parallel", trigger.fire, every=_WHEN_WOKEN)
    loops.add("refresh full queues", full_queues.refresh, every=1)


def add_waiting_loops(
    loops: Loops,
    database: Database,
    triggers: PostgresTriggerStore,
    backfills: PostgresBackfillStore,
    partitions: Partitions,
    pings: Pings,
    wake: Wake,
) -> WaitingExecutions:
    backfiller = Backfiller(backfills, partitions.make_for, wake)
    loops.add("backfill", backfiller.fill, every=_BACKFILL_INTERVAL, only_with_work=True)
    waiting = WaitingExecutions(
        triggers, PostgresDependencyStore(database), partitions.horizon, partitions.make_for, wake
    )
    waiting.add_loops(loops)
    loops.add("update zone data", ZoneDataUpdate(triggers, LEAD, pings.retime).follow, every=3600)
    return waiting
