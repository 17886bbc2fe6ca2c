"""The loops of a node that hand executions over, keep their leases, and take them back from lost workers."""

from functools import partial

from tickwork.dispatch.circuit_breakers import Breakers
from tickwork.dispatch.claim import Claimer
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.dispatch.limits import clean_up_slots
from tickwork.dispatch.renew_and_revoke_leases import Reconciler, Renewer, Revoker
from tickwork.dispatch.rescue import Rescuer
from tickwork.loop import Loops
from tickwork.node_trigger_loops import TICK
from tickwork.store.dispatch_store import PostgresDispatchStore

_RENEW_STEP = 15.0  # seconds: a renewal that takes longer comes too late


def add_dispatch_loops(
    loops: Loops,
    store: PostgresDispatchStore,
    workers: ConnectedWorkers,
    claimer: Claimer,
    renewer: Renewer,
    revoker: Revoker,
    rescuer: Rescuer,
    breakers: Breakers,
) -> None:
    loops.add("claim", claimer.claim, every=TICK)
    loops.add("renew", renewer.renew, every=1, stuck_after=_RENEW_STEP)
    loops.add("revoke", revoker.revoke, every=TICK)
    loops.add("reconcile", Reconciler(store, workers).reconcile, every=1)
    loops.add("rescue", rescuer.rescue, every=1)
    loops.add("clean up slots", partial(clean_up_slots, store), every=1)
    loops.add("update breakers", breakers.update, every=1)
