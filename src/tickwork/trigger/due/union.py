"""Due whenever any of several schedules is."""

from typing import NamedTuple

from tickwork.trigger.due.source import Source


class Union(NamedTuple):
    parts: tuple[Source, ...]

    def next_after(self, after: int) -> int | None:
        return min((due for part in self.parts if (due := part.next_after(after)) is not None), default=None)
