"""Fair turns: whoever has had least for his weight is next, and who was away is owed nothing for it.

Start-time fair queueing: each has a tag that moves on by what he was given, divided by his weight; the smallest tag
goes first. One who comes back begins where the others are now.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

_KEPT = 10_000  # tags; beyond that those that mean nothing any more are forgotten

Contender = TypeVar("Contender", bound=Hashable)


class Turns(Generic[Contender]):
    def __init__(self) -> None:
        self._tags: dict[Contender, float] = {}
        self._now = 0.0

    def first(self, contenders: Iterable[Contender]) -> Contender:
        return min(contenders, key=self.tag)

    def tag(self, contender: Contender) -> float:
        return max(self._tags.get(contender, 0.0), self._now)

    def give(self, contender: Contender, count: int, weight: float) -> None:
        start = self.tag(contender)
        self._now = start
        self._tags[contender] = start + count / weight
        if len(self._tags) > _KEPT:
            self._tags = {other: tag for other, tag in self._tags.items() if tag > self._now}
