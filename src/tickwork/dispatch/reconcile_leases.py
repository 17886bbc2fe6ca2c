"""What the database says a worker was given, and what it knows of, made the same."""

from collections.abc import Sequence

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.model.bad_row_isolation import BadRowIsolation
from tickwork.model.worker_protocol import Claim
from tickwork.store.port.dispatch import DispatchStore, LeasedExecutions


class Reconciler:
    """Looks after members that a commit without an answer may have given more than this node knows."""

    def __init__(self, store: DispatchStore, roster: ConnectedWorkers) -> None:
        self._store = store
        self._roster = roster
        self._isolation = BadRowIsolation("reconcile")

    async def reconcile(self) -> bool:
        """A lease stays in doubt until the database has answered. Others are not looked at: of those, what is not in
        the worker's hands has ended, even if that was recorded only after the database looked."""
        doubtful = [member for member in self._roster if member.doubtful]
        await self._isolation.run_each(doubtful, self._look_after, _send_away)
        return False

    async def _look_after(self, member: ConnectedWorker) -> None:
        doubtful = set(member.doubtful)
        held = await self._store.leased_to(member.seat.worker_id)
        await self._roster.learn(held.executions.lanes, self._store)
        compare(member, held.of(doubtful), known=())
        member.doubtful -= doubtful


async def _send_away(member: ConnectedWorker, _: Exception) -> None:
    """It comes back and is told again what it holds, or what it holds is given to others."""
    member.dismiss()


def compare(member: ConnectedWorker, held: LeasedExecutions, known: Sequence[Claim]) -> list[Claim]:
    """Hand over what the worker was given and never got; what it still holds but was taken away is the answer."""
    works, told = held.executions, set(known)
    claims = [Claim(*key, attempt) for key, attempt in zip(works.keys(), works.attempts, strict=True)]
    undelivered = [
        place
        for place, (claim, key) in enumerate(zip(claims, works.keys(), strict=True))
        if claim not in told and member.attempt_in_hand(key) != claim.attempt
    ]
    for place, lease_id in enumerate(held.leases):
        member.take(works.at(range(place, place + 1)), lease_id)
    if undelivered:
        member.deliver(works.at(undelivered))
    return list(told - set(claims))
