"""Work on its way into workers' hands.

Room is reserved while the transaction runs. Committed: deliver. Failed: release; and as a commit whose answer was
lost may have happened after all, the workers concerned are compared with the database again.
"""

from collections import defaultdict
from collections.abc import Sequence

from tickwork.dispatch.member import Member
from tickwork.store.port import Handing, Work


class Handout:
    def __init__(self, works: Sequence[Work], members: list[Member | None]) -> None:
        self.works = works
        self._members = members
        self._leases: dict[int, int] = {}

    @property
    def workers(self) -> list[int | None]:
        return [member.seat.worker_id if member else None for member in self._members]

    async def fix(self, handing: Handing) -> None:
        """Take back what was meant for workers that may no longer be handed anything here. Such a one, frozen
        perhaps with its connection open, must not be chosen again and again: its next beat gives it room anew."""
        concerned = {member.seat: member for member in self._members if member}
        if not concerned:
            return
        alive = await handing.hold(list(concerned))
        for index, member in enumerate(self._members):
            if member and member.seat.worker_id not in alive:
                member.reserved -= 1
                member.credit = 0
                self._members[index] = None

    async def lease(self, handing: Handing) -> None:
        if any(self._members):
            self._leases = await handing.lease(self.works, self.workers)

    def deliver(self) -> None:
        for member, works in self._by_member().items():
            member.reserved -= len(works)
            member.take(works, self._leases[member.seat.worker_id])
            member.deliver(works)

    def release(self) -> None:
        for member, works in self._by_member().items():
            member.reserved -= len(works)
            member.doubtful = bool(self._leases) or member.doubtful

    def _by_member(self) -> dict[Member, list[Work]]:
        shares: dict[Member, list[Work]] = defaultdict(list)
        for work, member in zip(self.works, self._members, strict=True):
            if member:
                shares[member].append(work)
        return shares
