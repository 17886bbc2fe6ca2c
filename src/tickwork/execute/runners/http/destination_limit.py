"""Room for so many requests at a time to each destination.

A destination that does not answer would else hold every slot until its requests time out, and jobs for others
would be late. When there is no room left, a request waits its turn for a moment, but not where nothing moves.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic


class DestinationFull(Exception):
    """So many requests are under way, and hardly any ends."""


class DestinationLimits:
    def __init__(self, size: int, patience: float, elapsed: Callable[[], float] = monotonic) -> None:
        self._size = size
        self._patience = patience
        self._elapsed = elapsed
        self._rooms: dict[str, _Room] = {}

    @asynccontextmanager
    async def enter(self, destination: str) -> AsyncIterator[None]:
        if destination not in self._rooms:
            self._rooms[destination] = _Room(self._size, self._elapsed())
        room = self._rooms[destination]
        room.users += 1
        try:
            await self._take_place(room)
            try:
                yield
            finally:
                room.moved = self._elapsed()
                room.places.release()
        finally:
            room.users -= 1
            if not room.users:
                del self._rooms[destination]

    async def _take_place(self, room: "_Room") -> None:
        if room.places.locked() and self._elapsed() - room.moved > self._patience:
            raise DestinationFull
        try:
            async with asyncio.timeout(self._patience):
                await room.places.acquire()
        except TimeoutError:
            raise DestinationFull from None


class _Room:
    def __init__(self, size: int, now: float) -> None:
        self.places = asyncio.Semaphore(size)
        self.moved = now  # when a request last ended
        self.users = 0
