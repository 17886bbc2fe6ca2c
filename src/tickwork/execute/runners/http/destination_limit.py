"""Limits the number of concurrent requests to each destination.

Without a limit, a destination that does not answer would take every slot until its requests time out, and jobs for
other destinations would be late. At the limit a request waits briefly, unless no request has ended for a while.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic


class DestinationFull(Exception):
    """The destination is at its limit, and its requests do not end soon."""


class DestinationLimits:
    def __init__(self, size: int, max_wait: float, elapsed: Callable[[], float] = monotonic) -> None:
        self._size = size
        self._max_wait = max_wait
        self._elapsed = elapsed
        self._destinations: dict[str, _Destination] = {}

    @asynccontextmanager
    async def slot(self, destination: str) -> AsyncIterator[None]:
        if destination not in self._destinations:
            self._destinations[destination] = _Destination(self._size, self._elapsed())
        limit = self._destinations[destination]
        limit.users += 1
        try:
            await self._acquire_slot(limit)
            try:
                yield
            finally:
                limit.last_ended = self._elapsed()
                limit.slots.release()
        finally:
            limit.users -= 1
            if not limit.users:
                del self._destinations[destination]

    async def _acquire_slot(self, limit: "_Destination") -> None:
        if limit.slots.locked() and self._elapsed() - limit.last_ended > self._max_wait:
            raise DestinationFull
        try:
            async with asyncio.timeout(self._max_wait):
                await limit.slots.acquire()
        except TimeoutError:
            raise DestinationFull from None


class _Destination:
    def __init__(self, size: int, now: float) -> None:
        self.slots = asyncio.Semaphore(size)
        self.last_ended = now  # when a request last ended
        self.users = 0
