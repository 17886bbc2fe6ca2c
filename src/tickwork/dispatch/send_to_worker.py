"""Work on its way into workers' hands.

Room is reserved while the transaction runs. Committed: deliver. Failed: release; and as a commit whose answer was
lost may have happened after all, the workers concerned are compared with the database again.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.limits import LockedLimits
from tickwork.dispatch.queues import count_started
from tickwork.store.port.dispatch import ExecutionColumns, Handover, Lane, Slot


class Share(NamedTuple):
    """What one worker gets, and where that stands in the work; that of each lane together."""

    member: ConnectedWorker
    places: Sequence[int]
    works: ExecutionColumns


class Handout:
    def __init__(
        self, works: ExecutionColumns, shares: Sequence[Share], gates: LockedLimits, lanes: Mapping[int, Lane]
    ) -> None:
        self._works = works
        self._gates = gates
        self._lanes = lanes
        self._leases: dict[int, int] = {}
        self.shares = list(shares)

    def workers(self) -> Sequence[int | None]:
        """Who gets each."""
        count = self._works.size
        if len(self.shares) == 1 and len(self.shares[0].places) == count:
            return [self.shares[0].member.seat.worker_id] * count
        chosen: list[int | None] = [None] * count
        for member, places, _ in self.shares:
            for place in places:
                chosen[place] = member.seat.worker_id
        return chosen

    async def fix(self, handing: Handover) -> None:
        """Take back what was meant for workers that may no longer be handed anything here. Such a one, frozen
        perhaps with its connection open, must not be chosen again and again: its next beat gives it room anew."""
        if not self.shares:
            return
        alive = await handing.lock_workers([share.member.seat for share in self.shares])
        for member, _, works in self.shares:
            if member.seat.worker_id not in alive:
                member.unreserve(works)
                member.credit = 0
        self.shares = [share for share in self.shares if share.member.seat.worker_id in alive]

    async def lease(self, handing: Handover) -> None:
        for member, _, works in self.shares:
            slots = [] if self._gates.are_open else [*self._slots(works)]
            self._leases[member.seat.worker_id] = await handing.lease(member.seat.worker_id, works, slots)
        await self._gates.keep(handing)

    def deliver(self) -> None:
        for member, _, works in self.shares:
            member.unreserve(works)
            member.take(works, self._leases[member.seat.worker_id])
            member.deliver(works)
            count_started(works.lanes, self._lanes)

    def release(self) -> None:
        for member, _, works in self.shares:
            member.unreserve(works)
            lease_id = self._leases.get(member.seat.worker_id)
            if lease_id is not None:
                member.doubt(lease_id)

    def _slots(self, works: ExecutionColumns) -> Iterator[Slot]:
        begin = 0
        for lane, group in groupby(works.lanes):
            end = begin + sum(1 for _ in group)
            yield from self._gates.slots(self._lanes[lane], range(begin, end))
            begin = end
