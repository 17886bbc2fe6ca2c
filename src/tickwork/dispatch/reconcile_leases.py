"""Compares the executions that the database has leased to a worker with those that the worker has."""

from collections.abc import Sequence

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.worker_protocol import Claim
from tickwork.store.port.dispatch import DispatchStore, LeasedExecutions


class Reconciler:
    """Finds out whether commits whose answer was lost have leased executions to workers of this node."""

    def __init__(self, store: DispatchStore, connected: ConnectedWorkers) -> None:
        self._store = store
        self._connected = connected
        self._isolation = BadRowIsolation("reconcile")

    async def reconcile(self) -> bool:
        """A lease stays uncertain until the database has answered. Other leases are not compared: an execution of
        theirs that the worker no longer has did end, even if its outcome was recorded after the database was read."""
        uncertain = [worker for worker in self._connected if worker.uncertain_leases]
        await self._isolation.run_each(uncertain, self._reconcile_worker, _reconnect)
        return False

    async def _reconcile_worker(self, worker: ConnectedWorker) -> None:
        uncertain = set(worker.uncertain_leases)
        leased = await self._store.leased_to(worker.id)
        await self._connected.load_lanes(leased.executions.lanes, self._store)
        send_missing(worker, leased.of(uncertain), known=())
        worker.uncertain_leases -= uncertain


async def _reconnect(worker: ConnectedWorker, _: Exception) -> None:
    """The worker connects again and is sent what it lacks, or its lease expires and others get its executions."""
    worker.disconnect()


def send_missing(worker: ConnectedWorker, leased: LeasedExecutions, known: Sequence[Claim]) -> list[Claim]:
    """Send the leased executions that the worker does not know; returns those it knows but lost the lease of."""
    executions, known_claims = leased.executions, set(known)
    claims = [
        Claim(*key, attempt) for key, attempt in zip(executions.keys(), executions.attempts, strict=True)
    ]
    missing = [
        position
        for position, (claim, key) in enumerate(zip(claims, executions.keys(), strict=True))
        if claim not in known_claims and worker.leased_attempt(key) != claim.attempt
    ]
    for position, lease_id in enumerate(leased.leases):
        worker.add_lease(executions.at(range(position, position + 1)), lease_id)
    if missing:
        worker.send_executions(executions.at(missing))
    return list(known_claims - set(claims))
