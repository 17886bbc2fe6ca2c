"""Leases of workers: renewed while a worker sends heartbeats, compared with what it has, revoked when it must stop."""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic

from prometheus_client import Counter

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.public_ids import to_micros
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import LEASE_RAN_OUT, Claim, Drain, Key, Micros, Renewed, Revoke
from tickwork.store.port.dispatch import DispatchStore, LeasedExecutions, Renewal, Revocation

_RENEWALS = Counter(
    "tickwork_lease_renewals_total",
    "Heartbeats of connected workers that were answered, by what became of the lease.",
    ["result"],
)

_STOP_TIMEOUT = 2.0  # seconds: a request to pause a job must not wait for an unreachable worker
_POLL_INTERVAL = 0.02


class Renewer:
    """Renews the leases of all workers that sent a heartbeat, with one statement however many executions they have."""

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
        heard = [worker.heard() for worker in heartbeats]
        renewal = await self._store.renew(heard, LEASE)
        for each, (worker, sent) in zip(heard, heartbeats.items(), strict=True):
            worker.stored(each)
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


def put_off_missing(
    worker: ConnectedWorker, leased: LeasedExecutions, known: Sequence[Claim]
) -> LeasedExecutions:
    """Those that the worker knows. The leases of the others are uncertain: the reconciler sends them later."""
    executions, known_claims = leased.executions, set(known)
    claims = [
        Claim(*key, attempt) for key, attempt in zip(executions.keys(), executions.attempts, strict=True)
    ]
    kept = [position for position, claim in enumerate(claims) if claim in known_claims]
    worker.uncertain_leases |= {
        lease for lease, claim in zip(leased.leases, claims, strict=True) if claim not in known_claims
    }
    return LeasedExecutions([leased.leases[position] for position in kept], executions.at(kept))


class Revoker:
    """Tells workers to stop attempts whose executions were cancelled, and waits until they have stopped. Of attempts
    that a node has ended it awaits no report: a worker that did not stop them in time may never do so."""

    def __init__(self, store: DispatchStore, connected: ConnectedWorkers) -> None:
        self._store = store
        self._connected = connected
        self._sent: set[Revocation] = set()

    async def revoke(self) -> bool:
        """Send each revocation once, and delete it when the worker no longer has the attempt."""
        workers = [worker.id for worker in self._connected]
        revocations = await self._store.revocations(workers) if workers else []
        done = [revocation for revocation in revocations if not self._is_pending(revocation)]
        if done:
            await self._store.forget_revocations(done)
        self._sent.intersection_update(revocations)
        return False

    async def wait_until_stopped(self, tenant_id: int, job: int) -> None:
        """Wait until no worker has an attempt of this job left to stop, or one takes too long."""
        deadline = monotonic() + _STOP_TIMEOUT
        while await self._store.is_being_stopped(tenant_id, job) and monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_INTERVAL)  # the worker may be connected to another node

    def _is_pending(self, revocation: Revocation) -> bool:
        """Whether the worker still has the attempt, or has disconnected. Sends the revocation if it was not sent."""
        worker = self._connected.get(revocation.worker_id)
        if worker is None or worker.leased_attempt(_key(revocation)) != revocation.attempt:
            return worker is None
        if revocation not in self._sent:
            self._sent.add(revocation)
            _send(worker, revocation)
        if not revocation.needs_report:
            worker.drop_attempt(_key(revocation))
        return revocation.needs_report


def _send(worker: ConnectedWorker, revocation: Revocation) -> None:
    worker.send(Revoke([Claim(*_key(revocation), revocation.attempt)], revocation.reason))


def _key(revocation: Revocation) -> Key:
    tenant, scheduled_for, job = revocation.key
    return tenant, to_micros(scheduled_for), job
