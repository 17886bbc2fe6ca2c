"""Where events are published and subscribed to. `model/event_after_commit.py` lists them.

Guarantees:

- Subscribers are called after the commit of the transaction that published the event, and not at all if that
  transaction is rolled back. Outside of a transaction they are called at once.
- Events are not stored, and each node has its own. A node that is killed right after a commit calls no subscriber, so
  one that must not miss anything also polls the database.
- A subscriber is called in the event loop and must return at once. If it raises, the error is logged and the other
  subscribers are still called.
- An event without subscribers costs one dict lookup. A batch of outcomes is one event.

A feature that must not lose an event, such as a notification, does not subscribe: it writes through the store, in the
transaction that makes the event true.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import structlog

from tickwork.model.event_after_commit import Event

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
            self._after_commit(partial(self._notify, event))

    def _notify(self, event: Event) -> None:
        for subscriber in self._subscribers[type(event)]:
            try:
                subscriber(event)
            except Exception:  # noqa: BLE001 (the event has happened, and the others must be called)
                _log.exception("a subscriber failed", kind=type(event).__name__)
