"""What queues and their settings ask of the store."""

from typing import NamedTuple, Protocol

from tickwork.model.page import Page
from tickwork.model.queue import QueueSettings, QueueView


class QueueLoad(NamedTuple):
    """How much waits in the queues of a name, of all tenants together."""

    name: str
    depth: int
    oldest_age: float  # seconds


class QueueStore(Protocol):
    async def queues(self, tenant_id: int, limit: int, cursor: str | None) -> Page[QueueView]: ...

    async def queue(self, tenant_id: int, name: str) -> QueueView:
        """NotFound when no job has named it and nobody has set it."""

    async def set(self, tenant_id: int, name: str, settings: QueueSettings) -> QueueView:
        """All of its settings but whether it is paused. What runs already counts from now on."""

    async def pause(self, tenant_id: int, name: str) -> QueueView: ...

    async def resume(self, tenant_id: int, name: str) -> QueueView: ...

    async def loads(self, most: int) -> list[QueueLoad]: ...
