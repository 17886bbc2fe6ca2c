"""Where due times come from, in whole seconds: see epoch."""

from typing import Protocol


class Source(Protocol):
    def next_after(self, after: int) -> int | None:
        """The first due second strictly after the given one; None when there is none before `epoch.END`."""
