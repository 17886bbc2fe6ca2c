"""Events of the past, page by page."""

from tickwork.model.field_types import Page
from tickwork.model.stream_event import EventFilter, StreamEvent
from tickwork.store.port.record import EventStore

_LATEST = 2**62
_SLICE = 500  # events that are read together
_MOST_SLICES = 20  # for one page: a rare filter gives a short page with a cursor, not a slow one


class EventHistory:
    def __init__(self, store: EventStore) -> None:
        self._store = store

    async def page(
        self, tenant_id: int, wanted: EventFilter, limit: int, before: int | None
    ) -> Page[StreamEvent]:
        """Latest first. The cursor is the number of the last event that was looked at."""
        found: list[StreamEvent] = []
        place = _LATEST if before is None else before
        for _ in range(_MOST_SLICES):
            events = await self._store.events_before(tenant_id, place, _SLICE)
            for each in events:
                place = each.number
                if wanted.admits(each):
                    found.append(each.event)
                if len(found) == limit:
                    return Page(found, str(place))
            if len(events) < _SLICE:
                return Page(found)
        return Page(found, str(place))
