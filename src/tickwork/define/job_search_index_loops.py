"""Brings the index that jobs are found by up to date, behind the writes and slower than they can be.

The pauses depend on how much was done, not on how long it took, so that simulated runs are alike.
"""

import asyncio

from tickwork.loop import Loops
from tickwork.store.port.define import JobIndex

# Seconds of rest for each job. A plain job is indexed in a few microseconds, so this leaves most of the time to others.
_REST_PER_INDEXED = 20e-6
_REST_PER_SETTLED = 60e-6
_INDEX_INTERVAL = 1.0  # seconds
_CLEAN_INTERVAL = 10.0


class JobIndexing:
    def __init__(self, store: JobIndex) -> None:
        self._store = store
        self._cleaned = (0, -1)  # the tenant and the segment that were cleaned last

    def add_loops(self, loops: Loops) -> None:
        loops.add("index jobs", self.index, every=_INDEX_INTERVAL)
        loops.add("settle one-time jobs", self.settle, every=_INDEX_INTERVAL)
        loops.add("clean job index", self.clean, every=_CLEAN_INTERVAL)

    async def index(self) -> bool:
        count = await self._store.index()
        await asyncio.sleep(count * _REST_PER_INDEXED)
        return count > 0

    async def settle(self) -> bool:
        count = await self._store.settle()
        await asyncio.sleep(count * _REST_PER_SETTLED)
        return count > 0

    async def clean(self) -> bool:
        """One segment at a time, again and again."""
        self._cleaned = await self._store.clean(self._cleaned) or (0, -1)
        return False
