"""Sources of due times, in whole seconds since 1970: the protocol, and sources made of other sources."""

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple, Protocol

from tickwork.schedule.due.days_and_times import Days, first_day_from
from tickwork.schedule.due.epoch import DAY
from tickwork.schedule.due.time_zone import Zone


class Source(Protocol):
    def next_after(self, after: int) -> int | None:
        """The first due second strictly after the given one; None when there is none before `epoch.END`."""


class Bounded(NamedTuple):
    source: Source
    start: int
    end: int

    def next_after(self, after: int) -> int | None:
        due = self.source.next_after(max(after, self.start - 1))
        return due if due is not None and due <= self.end else None


_MOST_WRONG = 250  # in a row: a period that falls on wrong days this often is never due


class DayFiltered(NamedTuple):
    source: Source
    zone: Zone
    days: Days
    without: frozenset[int] = frozenset()  # single excluded due times

    def next_after(self, after: int) -> int | None:
        due = self.source.next_after(after)
        for _ in range(_MOST_WRONG + len(self.without)):
            if due is None:
                return None
            day = self.zone.local(due) // DAY
            right = first_day_from(self.days, day)
            if right is None:
                return None
            if right == day and due not in self.without:
                return due
            due = self.source.next_after(due if right == day else self.zone.day_start(right) - 1)
        return None


class Union(NamedTuple):
    parts: tuple[Source, ...]

    def next_after(self, after: int) -> int | None:
        return min((due for part in self.parts if (due := part.next_after(after)) is not None), default=None)


def iterate_due_times(source: Source, after: int) -> Iterator[int]:
    """The due times after an instant. Merges the parts of a union, so that each part computes its own only once."""
    if isinstance(source, Union):
        last = after
        for due in merge(*(iterate_due_times(part, after) for part in source.parts)):
            if due > last:
                yield due
            last = due
        return
    due_next = source.next_after(after)
    while due_next is not None:
        yield due_next
        due_next = source.next_after(due_next)
