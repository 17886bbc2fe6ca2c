"""Renews the leases of all workers that sent a heartbeat, with one statement however many executions they have."""

from collections.abc import Callable

from prometheus_client import Counter

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import LEASE_RAN_OUT, Drain, Micros, Renewed
from tickwork.store.port.dispatch import DispatchStore, Renewal

_RENEWALS = Counter(
    "tickwork_lease_renewals_total",
    "Heartbeats of connected workers that were answered, by what became of the lease.",
    ["result"],
)


class Renewer:
    def __init__(self, store: DispatchStore, now: Callable[[], Micros]) -> None:
        self._store = store
        self._now = now
        self._heartbeats: dict[ConnectedWorker, float] = {}

    def add_heartbeat(self, worker: ConnectedWorker, sent: float) -> None:
        self._heartbeats[worker] = sent

    async def renew(self) -> bool:
        """Renew the leases of all workers that sent a heartbeat since the last step."""
        if not self._heartbeats:
            return False
        heartbeats = dict(self._heartbeats)
        renewal = await self._store.renew([worker.connection for worker in heartbeats], LEASE)
        for worker, sent in heartbeats.items():
            if self._heartbeats.get(worker) is sent:  # no later heartbeat has come
                del self._heartbeats[worker]
            self._answer(worker, sent, renewal)
        return bool(self._heartbeats)

    def _answer(self, worker: ConnectedWorker, sent: float, renewal: Renewal) -> None:
        if worker.connection in renewal.kept:
            _RENEWALS.labels("renewed").inc()
            worker.send(Renewed(sent, self._now()))
            if renewal.kept[worker.connection] and not worker.draining:
                worker.send(Drain())  # a user asked for it; the worker answers with a Drain of its own
        elif worker.connection in renewal.elsewhere:
            _RENEWALS.labels("elsewhere").inc()
            worker.disconnect()
        else:
            _RENEWALS.labels("expired").inc()
            worker.send(LEASE_RAN_OUT)
