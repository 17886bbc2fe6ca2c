"""The due times of a source between two instants, both included."""

from typing import NamedTuple

from tickwork.trigger.due.source import Source


class Bounded(NamedTuple):
    source: Source
    start: int
    end: int

    def next_after(self, after: int) -> int | None:
        due = self.source.next_after(max(after, self.start - 1))
        return due if due is not None and due <= self.end else None
