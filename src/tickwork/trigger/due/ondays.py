"""Due times of a source that fall on certain days of a place's calendar."""

from typing import NamedTuple

from tickwork.trigger.due.days import Days, first_day_from
from tickwork.trigger.due.epoch import DAY
from tickwork.trigger.due.source import Source
from tickwork.trigger.due.zone import Zone

_MOST_WRONG = 250  # in a row: a period that keeps falling on wrong days so often is never due


class OnDays(NamedTuple):
    source: Source
    zone: Zone
    days: Days
    without: frozenset[int] = frozenset()  # single due times left out

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
