"""Due every so many real seconds, whatever the clocks on the wall do."""

from typing import NamedTuple

from tickwork.trigger.due.epoch import BEGIN, END
from tickwork.trigger.duration import read_duration
from tickwork.trigger.misread import Misread


class Interval(NamedTuple):
    """Counted from the anchor. The default, 1970, lets all jobs with the same period share one timer."""

    every: int
    anchor: int = 0

    def next_after(self, after: int) -> int | None:
        after = max(after, BEGIN)
        due = after + self.every - (after - self.anchor) % self.every
        return due if due < END else None


def read_every(value: object) -> int:
    """The period in seconds."""
    seconds = read_duration(value).total_seconds()
    if seconds < 1 or seconds % 1:
        raise Misread("a period is a whole number of seconds, at least 1")
    return int(seconds)
