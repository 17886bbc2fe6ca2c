"""Numbers events that were committed, so that the stream has one order for all readers."""

from tickwork.store.port.record import EventStore

_TOGETHER = 5000


class EventNumbering:
    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def number(self) -> bool:
        """Number what is new; whether there may be more. Only one node does so at a time."""
        return await self._store.number(_TOGETHER) == _TOGETHER
