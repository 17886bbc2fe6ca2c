"""When a ping is expected: the due times of its schedule, and which of them a run answers.

A plain period, such as `every 1h`, counts from the last run: what runs elsewhere has a rhythm of its own. Every other
schedule names its due times.
"""

from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from tickwork.schedule.compile_timing import CompiledTiming

_EARLY = timedelta(minutes=1)  # clocks differ: a run that begins this long before its due time answers it
_SECOND = timedelta(seconds=1)
_LARGEST_SHIFT = timedelta(hours=3)  # by which a due time moves with new time zone data
_MOST_COUNTED = 1000  # due times that are missed together: a few milliseconds


class MissedTimes(NamedTuple):
    last: datetime
    times: int  # how many there are
    following: datetime | None  # the due time that is awaited next


class Expectation(NamedTuple):
    timing: CompiledTiming
    grace: timedelta

    def first_after(self, now: datetime) -> datetime | None:
        """The first due time of a ping that is new, or whose schedule is."""
        interval = self.timing.interval
        return now + interval if interval else self.timing.next_after(now)

    def with_new_zone_data(self, due_at: datetime, now: datetime) -> datetime | None:
        """The due time that is awaited instead, if clocks of its zone change at another time than was thought."""
        if self.timing.interval or self.timing.next_after(due_at - _SECOND) == due_at:
            return due_at
        return self.timing.next_after(max(now, due_at - _LARGEST_SHIFT))

    def is_answered_by(self, began: datetime, due_at: datetime) -> bool:
        """Whether a run that began then is the one that was awaited, or a later one."""
        return self.timing.interval is not None or began >= due_at - self._early(due_at)

    def due_time_of(self, began: datetime, due_at: datetime) -> datetime:
        """The due time of a run that answered this one. With a plain period, a run that comes sooner is on time."""
        return min(began, due_at) if self.timing.interval else due_at

    def after_answer(self, began: datetime, now: datetime, due_at: datetime) -> datetime | None:
        """The due time that is awaited after a run that answered one."""
        interval = self.timing.interval
        if interval is None:
            return self.timing.next_after(max(due_at, began))
        return began + interval if began + interval > now else now + interval

    def missed(self, now: datetime, due_at: datetime) -> MissedTimes:
        """The due times whose grace is over, from one of which this is known."""
        until = now - self.grace
        if interval := self.timing.interval:
            count = max((until - due_at) // interval, 0) + 1
            following = due_at + count * interval
            return MissedTimes(following - interval, count, following)
        last, count = due_at, 1
        for due in islice(self.timing.due_times(due_at), _MOST_COUNTED):
            if due > until:
                break
            last, count = due, count + 1
        return MissedTimes(last, count, self.timing.next_after(max(until, last)))

    def _early(self, due_at: datetime) -> timedelta:
        """Not so early that it could be a run for the due time before."""
        following = self.timing.next_after(due_at)
        return min(_EARLY, (following - due_at) / 2) if following else _EARLY
