"""What the database says a worker was given, and what it knows of, made the same."""

from collections.abc import Sequence

from tickwork.dispatch.member import Member
from tickwork.dispatch.roster import Roster
from tickwork.model.execution import ExecutionKey
from tickwork.model.ids import to_micros
from tickwork.model.protocol import Claim
from tickwork.store.port import DispatchStore, HeldWork, Work


class Reconciler:
    """Looks after members that a commit without an answer may have given more than this node knows."""

    def __init__(self, store: DispatchStore, roster: Roster) -> None:
        self._store = store
        self._roster = roster

    async def reconcile(self) -> bool:
        for member in self._roster:
            if member.doubtful:
                member.doubtful = False
                compare(member, await self._store.held_by(member.seat.worker_id), known=())
        return False


def compare(member: Member, held: Sequence[HeldWork], known: Sequence[Claim]) -> list[Claim]:
    """Hand over what the worker was given and never got; what it still holds but was taken away is the answer."""
    told = set(known)
    undelivered: list[Work] = []
    for lease_id, work in held:
        if claim_of(work) not in told and member.attempt_in_hand(_key(work)) != work.attempt:
            undelivered.append(work)
        member.take([work], lease_id)
    if undelivered:
        member.deliver(undelivered)
    return list(told - {claim_of(work) for _, work in held})


def claim_of(work: Work) -> Claim:
    return Claim(work.tenant_id, to_micros(work.scheduled_for), work.job_id, work.attempt)


def _key(work: Work) -> ExecutionKey:
    return ExecutionKey(work.tenant_id, work.scheduled_for, work.job_id)
