"""Computes the next due time, in whole seconds since 1970: of a fixed interval, of local times, and of combinations.

A clock change skips some local times or repeats them. `gap` decides about a skipped time: it is due at the moment of
the change, or not at all. `repeat` decides whether a repeated time is due once or twice.
"""

from collections.abc import Iterator
from heapq import merge
from typing import Literal, NamedTuple, Protocol

from tickwork.schedule.due.calendar_bit_masks import BEGIN, DAY, END, EVERY_HOUR, Days, Times, first_day_from
from tickwork.schedule.due.time_zone import Zone

Gap = Literal["next", "skip"]
Repeat = Literal["once", "twice"]
_MOST_EXCLUDED = 250  # due times in a row that fall on excluded days: then the schedule is never due


class Source(Protocol):
    def next_after(self, after: int) -> int | None:
        """The first due second strictly after the given one; None when there is none before `calendar.END`."""


class Dst(NamedTuple):
    gap: Gap
    repeat: Repeat


ONCE_EACH = Dst("next", "once")  # what a person means by "at 02:30"
AS_SHOWN = Dst("skip", "twice")  # what a person means by "every ten minutes"


class Interval(NamedTuple):
    """Due every `every` seconds from the anchor. With the default, 1970, all jobs of a period share one timer."""

    every: int
    anchor: int = 0

    def next_after(self, after: int) -> int | None:
        after = max(after, BEGIN)
        due = after + self.every - (after - self.anchor) % self.every
        return due if due < END else None


class WallClock(NamedTuple):
    """Due at certain local times on certain days."""

    zone: Zone
    days: Days
    times: Times
    dst: Dst

    @property
    def runs_evenly(self) -> bool:
        """Whether clock changes by whole hours make no difference."""
        return self.dst == AS_SHOWN and self.times.hours == EVERY_HOUR

    def next_after(self, after: int) -> int | None:
        at = max(after + 1, BEGIN)
        while at < END:
            period = self.zone.offset_period(at)
            local = at + period.offset
            if (
                at == period.start
                and self.dst.gap == "next"
                and self.shows_between(at + period.before, local)
            ):
                return at
            if self.dst.repeat == "once":
                local = max(local, period.start + period.before)
            due = self._next_local(local)
            if due is None:
                return None
            if due - period.offset < period.end:
                return due - period.offset
            following = self.zone.offset_period(period.end)
            if self.dst.gap == "next" and due < period.end + following.offset:
                return period.end
            # Skip ahead: nothing is due until then, except times that a clock change is about to repeat.
            at = max(period.end, due - 2 * DAY) if at < period.end - 2 * DAY else period.end
        return None

    def shows_between(self, low: int, high: int) -> bool:
        """Whether one of the times lies in a range of local time, without its end."""
        due = self._next_local(low)
        return due is not None and due < high

    def _next_local(self, local: int) -> int | None:
        """The first due time at or after a local second, in local seconds."""
        day, second = divmod(local, DAY)
        first = first_day_from(self.days, day)
        if first == day:
            time = self.times.first_from(second)
            if time >= 0:
                return day * DAY + time
            first = first_day_from(self.days, day + 1)
        return None if first is None else first * DAY + self.times.first_from(0)


class Bounded(NamedTuple):
    """The due times of a source from `start` to `end`, both included."""

    source: Source
    start: int
    end: int

    def next_after(self, after: int) -> int | None:
        due = self.source.next_after(max(after, self.start - 1))
        return due if due is not None and due <= self.end else None


class DayFiltered(NamedTuple):
    """The due times of a source that fall on certain days."""

    source: Source
    zone: Zone
    days: Days
    without: frozenset[int] = frozenset()  # single excluded due times

    def next_after(self, after: int) -> int | None:
        due = self.source.next_after(after)
        for _ in range(_MOST_EXCLUDED + len(self.without)):
            if due is None:
                return None
            day = self.zone.local(due) // DAY
            allowed = first_day_from(self.days, day)
            if allowed is None:
                return None
            if allowed == day and due not in self.without:
                return due
            due = self.source.next_after(due if allowed == day else self.zone.day_start(allowed) - 1)
        return None


class Union(NamedTuple):
    """The due times of several sources together."""

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
