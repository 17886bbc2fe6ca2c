"""Tells workers to stop attempts whose executions were cancelled, and waits until they have stopped."""

import asyncio
from time import monotonic

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.ids import to_micros
from tickwork.model.worker_protocol import Claim, Key, Revoke
from tickwork.store.port.dispatch import DispatchStore, Revocation

_STOP_TIMEOUT = 2.0  # seconds: a request to pause a job must not wait for an unreachable worker
_POLL_INTERVAL = 0.02


class Revoker:
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
        return True


def _send(worker: ConnectedWorker, revocation: Revocation) -> None:
    worker.send(Revoke([Claim(*_key(revocation), revocation.attempt)], revocation.reason))


def _key(revocation: Revocation) -> Key:
    tenant, scheduled_for, job = revocation.key
    return tenant, to_micros(scheduled_for), job
