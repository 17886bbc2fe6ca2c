"""Due times for which a full queue has no room.

Each node knows which lanes belong to queues that may hold only so much, so that firing asks nothing about all others.
"""

from collections.abc import Sequence
from datetime import timedelta

from tickwork.store.port.trigger import Firing, TriggerStore

QUEUE_FULL = "queue is full"


class FullQueues:
    def __init__(self, store: TriggerStore, lead: timedelta) -> None:
        """`lead`: how long before its time something is fired, and waits."""
        self._store = store
        self._lead = lead
        self._bounded: frozenset[int] = frozenset()

    async def learn(self) -> bool:
        """What was set since the last look, here or elsewhere."""
        self._bounded = await self._store.bounded_lanes()
        return False

    async def overflowing(
        self, firing: Firing, lanes: Sequence[int], places: Sequence[int], workers: Sequence[int | None]
    ) -> dict[int, str]:
        """Of what is fired at these places, what no worker takes at once and has no room to wait, with the reason."""
        if not self._bounded:
            return {}
        waiting = [place for place in places if workers[place] is None and lanes[place] in self._bounded]
        if not waiting:
            return {}
        skipped: dict[int, str] = {}
        for queue in await firing.rooms([lanes[place] for place in waiting], self._lead):
            of_queue = [place for place in waiting if lanes[place] in queue.lanes]
            skipped |= dict.fromkeys(of_queue[queue.room :], QUEUE_FULL)
        return skipped
