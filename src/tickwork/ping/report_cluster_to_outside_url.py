"""The cluster reports itself to a heartbeat URL outside, every minute while it fires and is well.

If all nodes are down, nobody here can tell: whoever watches that URL does. One node at a time makes the call, and any
node that is well does it next. A cluster that is late with its rules does not report itself.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from tickwork.model.errors import Invalid, NotFound
from tickwork.model.http_target import url_error
from tickwork.model.ping import OutsidePingView
from tickwork.store.port.heartbeat_url_calls import OutsidePingStore

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_INTERVAL = timedelta(minutes=1)
_RETRY_AFTER = timedelta(seconds=10)
_MOST_LATE = timedelta(minutes=1)  # that rules may be without the cluster counting as ill


class OutsidePing:
    def __init__(
        self,
        store: OutsidePingStore,
        call: Callable[[str], Awaitable[str | None]],
        is_well: Callable[[], bool],
    ) -> None:
        """`call` gives what went wrong, and None for success. `is_well`: whether this node is."""
        self._store = store
        self._call = call
        self._is_well = is_well

    async def set(self, url: str) -> OutsidePingView:
        if error := url_error(url):
            raise Invalid([error._replace(path="url")])
        await self._store.set(url)
        return await self._store.view()

    async def view(self) -> OutsidePingView:
        return await self._store.view()

    async def delete(self) -> OutsidePingView:
        if not await self._store.delete():
            raise NotFound("outside ping", "set")
        return await self._store.view()

    async def report(self) -> bool:
        if self._is_well() and (url := await self._store.take_due(_INTERVAL, _MOST_LATE)):
            error = await self._call(url)
            if error:
                _log.warning("the cluster could not report itself outside", error=error)
            await self._store.note_called(error, _RETRY_AFTER)
        return False
