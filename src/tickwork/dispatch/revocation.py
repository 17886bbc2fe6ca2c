"""Tells workers to stop what was cancelled while in their hands, and whoever asked for it when that is done."""

import asyncio
from time import monotonic

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.ids import to_micros
from tickwork.model.worker_protocol import Claim, Key, Revoke
from tickwork.store.port.dispatch import DispatchStore, Revocation

_PATIENCE = 2.0  # seconds: a worker that cannot be reached must not hold up whoever pauses a job
_GLANCE = 0.02


class Revoker:
    def __init__(self, store: DispatchStore, roster: ConnectedWorkers) -> None:
        self._store = store
        self._roster = roster
        self._told: set[Revocation] = set()

    async def revoke(self) -> bool:
        """Tell each worker once; a request is done with when the worker has let go."""
        workers = [member.seat.worker_id for member in self._roster]
        revocations = await self._store.revocations(workers) if workers else []
        done = [revocation for revocation in revocations if not self._stop(revocation)]
        if done:
            await self._store.forget_revocations(done)
        self._told.intersection_update(revocations)
        return False

    async def until_stopped(self, tenant_id: int, job: int) -> None:
        """Until no worker has anything of this job left to stop, or one takes too long."""
        patience_ends = monotonic() + _PATIENCE
        while await self._store.is_being_stopped(tenant_id, job) and monotonic() < patience_ends:  # noqa: ASYNC110
            await asyncio.sleep(_GLANCE)  # what it waits for happens on another node

    def _stop(self, revocation: Revocation) -> bool:
        """Whether it is still in the worker's hands; then the worker is told."""
        member = self._roster.get(revocation.worker_id)
        if member is None or member.attempt_in_hand(_key(revocation)) != revocation.attempt:
            return member is None
        if revocation not in self._told:
            self._told.add(revocation)
            _tell(member, revocation)
        return True


def _tell(member: ConnectedWorker, revocation: Revocation) -> None:
    member.send(Revoke([Claim(*_key(revocation), revocation.attempt)], revocation.reason))


def _key(revocation: Revocation) -> Key:
    tenant, scheduled_for, job = revocation.key
    return tenant, to_micros(scheduled_for), job
