"""Where events are published: services publish them, features subscribe to them. `model/event.py` lists them.

What holds:

- Subscribers hear of an event after the commit of the transaction that it was published in, and not at all when that
  transaction is rolled back. Outside of a transaction they hear of it at once.
- Events are live, and each node has its own. A node that is killed right after a commit tells nobody, so a subscriber
  that must not miss anything also looks into the database from time to time.
- A subscriber is called in the event loop and must return at once. One that fails is logged and harms nobody else.
- An event that nobody subscribed to costs one look into a dict. A batch of outcomes is one event.

A feature that must not lose an event, such as a notification, does not subscribe: it writes through the store, in the
transaction that makes the event true.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import structlog

from tickwork.model.event import Event

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_E = TypeVar("_E", bound=Event)


class EventPublisher:
    def __init__(self, after_commit: Callable[[Callable[[], None]], None]) -> None:
        self._after_commit = after_commit
        self._subscribers: defaultdict[type, list[Callable[[Any], None]]] = defaultdict(list)

    def subscribe(self, kind: type[_E], subscriber: Callable[[_E], None]) -> None:
        self._subscribers[kind].append(subscriber)

    def publish(self, event: Event) -> None:
        if type(event) in self._subscribers:
            self._after_commit(partial(self._tell, event))

    def _tell(self, event: Event) -> None:
        for subscriber in self._subscribers[type(event)]:
            try:
                subscriber(event)
            except Exception:  # noqa: BLE001 (what was published is done, and the others are to hear of it)
                _log.exception("a subscriber failed", kind=type(event).__name__)
