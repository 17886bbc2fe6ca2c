"""Work on its way into workers' hands.

Room is reserved while the transaction runs. Committed: deliver. Failed: release; and as a commit whose answer was
lost may have happened after all, the workers concerned are compared with the database again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tickwork.dispatch.member import Member
from tickwork.store.port import Handing, Works


class Share(NamedTuple):
    """What one worker gets, by its places in the work."""

    member: Member
    places: Sequence[int]


class Handout:
    def __init__(self, works: Works, shares: Sequence[Share]) -> None:
        self._works = works
        self._shares = list(shares)
        self._leases: dict[int, int] = {}

    def workers(self) -> Sequence[int | None]:
        """Who gets each."""
        count = self._works.size
        if len(self._shares) == 1 and len(self._shares[0].places) == count:
            return [self._shares[0].member.seat.worker_id] * count
        chosen: list[int | None] = [None] * count
        for member, places in self._shares:
            for place in places:
                chosen[place] = member.seat.worker_id
        return chosen

    def shares(self) -> list[tuple[int, Works]]:
        return [(member.seat.worker_id, self._works.at(places)) for member, places in self._shares]

    async def fix(self, handing: Handing) -> None:
        """Take back what was meant for workers that may no longer be handed anything here. Such a one, frozen
        perhaps with its connection open, must not be chosen again and again: its next beat gives it room anew."""
        if not self._shares:
            return
        alive = await handing.hold([share.member.seat for share in self._shares])
        for share in self._shares:
            if share.member.seat.worker_id not in alive:
                share.member.reserved -= len(share.places)
                share.member.credit = 0
        self._shares = [share for share in self._shares if share.member.seat.worker_id in alive]

    async def lease(self, handing: Handing) -> None:
        for worker_id, works in self.shares():
            self._leases[worker_id] = await handing.lease(worker_id, works)

    def deliver(self) -> None:
        for member, places in self._shares:
            works = self._works.at(places)
            member.reserved -= len(places)
            member.take(works, self._leases[member.seat.worker_id])
            member.deliver(works)

    def release(self) -> None:
        for member, places in self._shares:
            member.reserved -= len(places)
            lease_id = self._leases.get(member.seat.worker_id)
            if lease_id is not None:
                member.doubt(lease_id)
