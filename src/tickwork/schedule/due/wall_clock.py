"""Due times by local time.

A clock change skips some local times or repeats them. `gap` decides about a skipped time: it is due at the moment of
the change, or not at all. `repeat` decides whether a repeated time is due once or twice.
"""

from typing import Literal, NamedTuple

from tickwork.schedule.due.days_and_times import EVERY_HOUR, Days, Times, first_day_from
from tickwork.schedule.due.epoch import BEGIN, DAY, END
from tickwork.schedule.due.time_zone import Zone

Gap = Literal["next", "skip"]
Repeat = Literal["once", "twice"]


class Dst(NamedTuple):
    gap: Gap
    repeat: Repeat


ONCE_EACH = Dst("next", "once")  # what a person means by "at 02:30"
AS_SHOWN = Dst("skip", "twice")  # what a person means by "every ten minutes"


class WallClock(NamedTuple):
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
            offset_period = self.zone.offset_period(at)
            local = at + offset_period.offset
            if self.dst.repeat == "once":
                local = max(local, offset_period.start + offset_period.before)
            due = self._next_local(local)
            if due is None:
                return None
            if due - offset_period.offset < offset_period.end:
                return due - offset_period.offset
            following = self.zone.offset_period(offset_period.end)
            if self.dst.gap == "next" and due < offset_period.end + following.offset:
                return offset_period.end
            # Skip ahead: nothing is due until then, except times that a clock change is about to repeat.
            at = (
                max(offset_period.end, due - 2 * DAY)
                if at < offset_period.end - 2 * DAY
                else offset_period.end
            )
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
