"""Keeps a node's picture of disabled tasks and of the priorities of queues, so that claiming need not ask for them."""

from collections.abc import Sequence

from tickwork.dispatch.connected_workers import ConnectedWorkers
from tickwork.loop import Loops, Wake
from tickwork.store.port.dispatch import DispatchSettings, DispatchStore

_INTERVAL = 1.0  # seconds until a node knows what was set through another one


class DispatchSettingsReader:
    def __init__(self, store: DispatchStore, users: Sequence[ConnectedWorkers], wake: Wake) -> None:
        self._store = store
        self._users = users
        self._wake = wake
        self._last = DispatchSettings()

    def add_loops(self, loops: Loops) -> None:
        loops.add("read dispatch settings", self.read, every=_INTERVAL)

    async def read(self) -> bool:
        settings = await self._store.settings()
        if settings != self._last:
            self._last = settings
            for connected in self._users:
                connected.use_settings(settings)
            self._wake.claim()
        return False
