"""The attempts that wait for a slot, in the order in which they get one: by priority, then round robin over flows.

Round robin keeps a flow with many attempts from delaying the others. A flow that joins while others wait starts with
a burst: its first attempts go before theirs.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from itertools import groupby

from tickwork.execute.attempt_state import Attempt
from tickwork.model.job import PRIORITIES

_LOWEST = len(PRIORITIES) - 1
_FIRST_BURST = 100  # attempts of a new flow that start before round robin applies to it


class ReadyQueue:
    def __init__(self) -> None:
        self._levels: tuple[OrderedDict[int, deque[Attempt]], ...] = tuple(OrderedDict() for _ in PRIORITIES)
        self._burst_left: dict[int, int] = {}  # by flow
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, attempts: Sequence[Attempt]) -> None:
        for (priority, flow), alike in groupby(attempts, _priority_and_flow):
            level = self._levels[min(priority, _LOWEST)]
            waiting = level.get(flow)
            if waiting is None:
                waiting = self._add_flow(level, flow)
            waiting.extend(alike)
        self._length += len(attempts)

    def popleft(self) -> Attempt:
        """Remove the attempt that starts next."""
        level = next(filter(None, self._levels))
        flow = next(iter(level))
        waiting = level[flow]
        attempt = waiting.popleft()
        self._length -= 1
        if not waiting:
            del level[flow]
        elif not (self._burst_left and self._in_burst(flow)) and len(level) > 1:
            level.move_to_end(flow)
        return attempt

    def pop(self) -> Attempt:
        """Remove an attempt that would wait for long: the last one of the flow that is served last."""
        level = next(filter(None, reversed(self._levels)))
        flow = next(reversed(level))
        attempt = level[flow].pop()
        self._length -= 1
        if not level[flow]:
            del level[flow]
        return attempt

    def clear(self) -> None:
        for level in self._levels:
            level.clear()
        self._burst_left.clear()
        self._length = 0

    def _add_flow(self, level: OrderedDict[int, deque[Attempt]], flow: int) -> deque[Attempt]:
        """Insert a new flow behind those that are still in their burst and ahead of all others."""
        bursting = [other for other in level if other in self._burst_left]
        waiting: deque[Attempt] = deque()
        level[flow] = waiting
        self._burst_left[flow] = _FIRST_BURST
        for other in [flow, *reversed(bursting)]:
            level.move_to_end(other, last=False)
        return waiting

    def _in_burst(self, flow: int) -> bool:
        left = self._burst_left.get(flow, 0) - 1
        if left > 0:
            self._burst_left[flow] = left
            return True
        self._burst_left.pop(flow, None)
        return False


def _priority_and_flow(attempt: Attempt) -> tuple[int, int]:
    return attempt.run.priority, attempt.run.flow
