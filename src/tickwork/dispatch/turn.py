"""Fair turns: whoever has had least for his weight is next, and who was away is owed little for it.

Start-time fair queueing: each has a tag that moves on by what he was given, divided by his weight; the smallest tag
goes first. One who comes back begins a little before where the others are now: so a short burst of somebody who asks
for little goes ahead of those who ask without end, and only what is beyond that takes turns with them.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

CREDIT = 100  # so many, at most, are owed to one who was away
_KEPT = 10_000  # tags; beyond that those that mean nothing any more are forgotten

Contender = TypeVar("Contender", bound=Hashable)


class Turns(Generic[Contender]):
    def __init__(self) -> None:
        self._tags: dict[Contender, float] = {}
        self._now = 0.0

    def first(self, contenders: Iterable[Contender]) -> Contender:
        return min(contenders, key=self.tag)

    def tag(self, contender: Contender) -> float:
        return max(self._tags.get(contender, 0.0), self._now - CREDIT)

    def give(self, contender: Contender, count: int, weight: float) -> None:
        start = self.tag(contender)
        self._now = max(self._now, start)
        self._tags[contender] = start + count / weight
        if len(self._tags) > _KEPT:
            self._tags = {other: tag for other, tag in self._tags.items() if tag > self._now - CREDIT}
