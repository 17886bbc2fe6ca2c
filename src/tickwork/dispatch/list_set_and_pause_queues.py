"""Queues as users see and configure them, and how much of each was started."""

from collections import Counter as Counted
from collections.abc import Mapping, Sequence

import msgspec
import structlog
from prometheus_client import Counter

from tickwork.loop import Wake
from tickwork.model.errors import Invalid, NotFound
from tickwork.model.event_after_commit import Publish, WorkArrived
from tickwork.model.field_types import Page, QueueName
from tickwork.model.queue import QueueSettings, QueueView
from tickwork.model.retention import retention_errors
from tickwork.store.port.dispatch import Lane, QueueStore

_STARTED = Counter(
    "tickwork_queue_started_total", "Executions of a queue that were handed to workers.", ["queue"]
)
_MOST_QUEUES = 200  # with a label of their own, because users choose the names
_OTHERS = "(others)"  # not a valid queue name
_counters: dict[str, Counter] = {}


def count_started(started: Sequence[int], lanes: Mapping[int, Lane]) -> None:
    """Count executions that were handed over, given the lane of each."""
    by_queue: dict[str, int] = {}
    for lane, count in Counted(started).items():
        queue = lanes[lane].queue
        by_queue[queue] = by_queue.get(queue, 0) + count
    for queue, count in by_queue.items():
        (_counters.get(queue) or _counter(queue)).inc(count)


def _counter(queue: str) -> Counter:
    name = queue if len(_counters) < _MOST_QUEUES else _OTHERS
    return _counters.setdefault(name, _STARTED.labels(name))


_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")


class Queues:
    def __init__(self, store: QueueStore, publish: Publish, wake: Wake) -> None:
        self._store = store
        self._publish = publish
        self._wake = wake

    async def list(self, tenant_id: int, limit: int, cursor: str | None = None) -> Page[QueueView]:
        return await self._store.queues(tenant_id, limit, cursor)

    async def get(self, tenant_id: int, name: str) -> QueueView:
        if not _is_name(name):
            raise NotFound("queue", name)
        return await self._store.queue(tenant_id, name)

    async def set(self, tenant_id: int, name: str, settings: QueueSettings) -> QueueView:
        if errors := list(retention_errors(settings.retention)):
            raise Invalid(errors)
        view = await self._store.set(tenant_id, _checked(name), settings)
        self._wake.read_dispatch_settings()
        self._publish(WorkArrived(tenant_id))
        return view

    async def pause(self, tenant_id: int, name: str) -> QueueView:
        """Hand over no more executions of it. Those that workers have still run, even if they are not due yet."""
        view = await self._store.pause(tenant_id, _checked(name))
        _log.info("queue paused", queue=name, tenant_id=tenant_id, waiting=view.depth)
        return view

    async def resume(self, tenant_id: int, name: str) -> QueueView:
        await self.get(tenant_id, name)
        view = await self._store.resume(tenant_id, name)
        _log.info("queue resumed", queue=name, tenant_id=tenant_id, waiting=view.depth)
        self._publish(WorkArrived(tenant_id))
        return view


def _is_name(name: str) -> bool:
    try:
        msgspec.convert(name, QueueName)
    except msgspec.ValidationError:
        return False
    return True


def _checked(name: str) -> str:
    if not _is_name(name):
        raise Invalid.field(
            "name",
            f"{name[:80]!r} is not the name of a queue",
            "up to 100 letters, digits, dots, dashes and underscores; a letter or digit first",
        )
    return name
