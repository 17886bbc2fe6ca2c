"""Attempts that are ready, in the order in which they get slots: the more urgent first, those of the same urgency by
turns of their flows, so that what one of them was handed in plenty does not hold up the others."""

from collections import OrderedDict, deque
from collections.abc import Iterable

from tickwork.execute.attempt import Attempt
from tickwork.model.job import PRIORITIES

_LAST = len(PRIORITIES) - 1


class Line:
    def __init__(self) -> None:
        self._levels: tuple[OrderedDict[int, deque[Attempt]], ...] = tuple(OrderedDict() for _ in PRIORITIES)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            level = self._levels[min(attempt.run.priority, _LAST)]
            waiting = level.get(attempt.run.flow)
            if waiting is None:
                waiting = level[attempt.run.flow] = deque()
            waiting.append(attempt)
            self._length += 1

    def popleft(self) -> Attempt:
        """Whose turn it is."""
        level = next(filter(None, self._levels))
        flow = next(iter(level))
        waiting = level[flow]
        attempt = waiting.popleft()
        self._length -= 1
        if not waiting:
            del level[flow]
        elif len(level) > 1:
            level.move_to_end(flow)
        return attempt

    def pop(self) -> Attempt:
        """The one that would have to wait the longest."""
        level = next(filter(None, reversed(self._levels)))
        flow = max(level, key=lambda flow: len(level[flow]))
        attempt = level[flow].pop()
        self._length -= 1
        if not level[flow]:
            del level[flow]
        return attempt

    def clear(self) -> None:
        for level in self._levels:
            level.clear()
        self._length = 0
