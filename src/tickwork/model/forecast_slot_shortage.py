"""How many slots will be wanted at once, and where there are not enough of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from itertools import pairwise
from typing import NamedTuple

_SHORTEST = 0.001  # seconds


class Demand(NamedTuple):
    """An execution that wants a slot from a time on, for as long as it usually takes. In seconds."""

    at: float
    length: float

    @property
    def end(self) -> float:
        return self.at + max(self.length, _SHORTEST)


class Wait(NamedTuple):
    """A time in which executions wait for a slot. In seconds."""

    begin: float
    until: float  # when the last of them starts
    wanted: int  # the most slots at once
    delay: float  # the longest


def peaks(demands: Sequence[Demand], begin: float, step: float, steps: int) -> list[int]:
    """The most slots that are wanted at once in each step, were there enough of them."""
    found = [0] * steps
    for (at, wanted), (until, _) in pairwise([*_levels(demands), (float("inf"), 0)]):
        first = max(0, int((at - begin) // step))
        last = min(steps - 1, -int(-(until - begin) // step) - 1) if wanted else -1
        for place in range(first, last + 1):
            found[place] = max(found[place], wanted)
    return found


def waits(demands: Sequence[Demand], slots: int) -> list[Wait]:
    """Plays through who gets a slot when, first come, first served. With no slots at all, everything waits for ever:
    that is no shortage that ends."""
    if slots <= 0:
        return []
    free = [float("-inf")] * slots
    heapify(free)
    found: list[Wait] = []
    for demand in sorted(demands):
        start = max(demand.at, free[0])
        heapreplace(free, start + demand.end - demand.at)
        if start > demand.at:
            _add(found, demand.at, start)
    levels = list(_levels(demands))
    counted = (each._replace(wanted=_most(levels, each.begin, each.until)) for each in found)
    return [each for each in counted if each.wanted > slots]


def _add(found: list[Wait], at: float, start: float) -> None:
    last = found[-1] if found else None
    if last and at <= last.until:
        found[-1] = last._replace(until=max(last.until, start), delay=max(last.delay, start - at))
    else:
        found.append(Wait(at, start, 0, start - at))


def _levels(demands: Sequence[Demand]) -> Iterator[tuple[float, int]]:
    """How many are wanted from each time on."""
    changes: Counter[float] = Counter()
    for demand in demands:
        changes[demand.at] += 1
        changes[demand.end] -= 1
    wanted = 0
    for at in sorted(changes):
        wanted += changes[at]
        yield at, wanted


def _most(levels: Sequence[tuple[float, int]], begin: float, until: float) -> int:
    return max((wanted for at, wanted in levels if begin <= at <= until), default=0)
