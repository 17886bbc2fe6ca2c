"""Tells workers to stop what was cancelled while in their hands."""

from tickwork.dispatch.roster import Roster
from tickwork.model.ids import to_micros
from tickwork.model.protocol import Claim, Revoke
from tickwork.store.port import DispatchStore, Revocation


class Revoker:
    """Tells workers to stop what was cancelled while in their hands."""

    def __init__(self, store: DispatchStore, roster: Roster) -> None:
        self._store = store
        self._roster = roster

    async def revoke(self) -> bool:
        workers = [member.seat.worker_id for member in self._roster]
        for revocation in await self._store.take_revocations(workers) if workers else ():
            member = self._roster.get(revocation.worker_id)
            if member:
                member.send(Revoke([_claim(revocation)], revocation.reason))
        return False


def _claim(revocation: Revocation) -> Claim:
    key = revocation.key
    return Claim(key.tenant_id, to_micros(key.scheduled_for), key.job_id, revocation.attempt)
