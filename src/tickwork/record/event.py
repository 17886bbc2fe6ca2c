"""The one seam for news: services announce facts, features subscribe to them. `model/facts.py` lists the facts.

What holds:

- A fact is true when it is announced: subscribers hear of it after the commit of the transaction that it was announced
  in, and not at all when that transaction is rolled back. Outside of a transaction they hear of it at once.
- Subscribers hear of facts live and on this node only. A node that is killed between the commit and the announcement
  tells nobody, so a subscriber that must not miss anything also looks into the database from time to time.
- A subscriber is called in the event loop and must return at once. One that fails is logged and harms nobody else.
- A fact that nobody subscribed to costs one look into a dict. There is one fact for a batch of executions, not one for
  each.

A feature that must not lose a fact, such as a notification, does not subscribe: it writes through the store, in the
transaction that makes the fact true.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import structlog

from tickwork.model.facts import Fact

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork")
_F = TypeVar("_F", bound=Fact)


class Events:
    def __init__(self, after_commit: Callable[[Callable[[], None]], None]) -> None:
        self._after_commit = after_commit
        self._subscribers: defaultdict[type, list[Callable[[Any], None]]] = defaultdict(list)

    def subscribe(self, kind: type[_F], subscriber: Callable[[_F], None]) -> None:
        self._subscribers[kind].append(subscriber)

    def announce(self, fact: Fact) -> None:
        if type(fact) in self._subscribers:
            self._after_commit(partial(self._tell, fact))

    def _tell(self, fact: Fact) -> None:
        for subscriber in self._subscribers[type(fact)]:
            try:
                subscriber(fact)
            except Exception:  # noqa: BLE001 (what was announced is done, and the others are to hear of it)
                _log.exception("a subscriber failed", fact=type(fact).__name__)
