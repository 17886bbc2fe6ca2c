"""Skips due times whose queue is full.

Each node caches which lanes belong to queues with a limit on waiting executions, so that firing queries only those.
"""

from collections.abc import Sequence
from datetime import timedelta

from tickwork.store.port.trigger import Firing, TriggerStore

QUEUE_FULL = "queue is full"


class FullQueues:
    def __init__(self, store: TriggerStore, lead: timedelta) -> None:
        """`lead`: how long before its due time an execution is created, and counts as waiting."""
        self._store = store
        self._lead = lead
        self._bounded: frozenset[int] = frozenset()

    async def refresh(self) -> bool:
        self._bounded = await self._store.bounded_lanes()
        return False

    async def skipped(
        self, firing: Firing, lanes: Sequence[int], startable: Sequence[int], workers: Sequence[int | None]
    ) -> dict[int, str]:
        """The indexes in `startable` that have no worker and that a full queue does not accept, with the reason."""
        if not self._bounded:
            return {}
        waiting = [index for index in startable if workers[index] is None and lanes[index] in self._bounded]
        if not waiting:
            return {}
        skipped: dict[int, str] = {}
        for queue in await firing.queue_capacities([lanes[index] for index in waiting], self._lead):
            of_queue = [index for index in waiting if lanes[index] in queue.lanes]
            skipped |= dict.fromkeys(of_queue[queue.free :], QUEUE_FULL)
        return skipped
