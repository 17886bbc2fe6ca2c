"""Wakes the loops of this node before their time, when there is something for them to do."""

from collections.abc import Callable
from functools import partial

from tickwork.loop import Loops


class Wake:
    """One method for each loop that is woken, with the loop's name.

    A loop that finds its work in the database is woken after the commit of the open transaction: before that it would
    find nothing. A loop that finds its work in memory is woken at once.
    """

    def __init__(self, loops: Loops, after_commit: Callable[[Callable[[], None]], None]) -> None:
        self._loops = loops
        self._after_commit = after_commit

    # Work in the database

    def fire_beside(self) -> None:
        """There is so much to fire that a second loop helps: one waits for the database while the other computes."""
        self._after_commit(partial(self._loops.wake, "fire beside"))

    def backfill(self) -> None:
        """A backfill was started."""
        self._after_commit(partial(self._loops.wake, "backfill"))

    def claim(self) -> None:
        """Executions may wait that a connected worker has room for."""
        self._after_commit(partial(self._loops.wake, "claim"))

    def revoke(self) -> None:
        """A worker may hold what was cancelled."""
        self._after_commit(partial(self._loops.wake, "revoke"))

    # Work in memory

    def record(self) -> None:
        """Workers reported outcomes."""
        self._loops.wake("record")

    def notes(self) -> None:
        """Workers sent log lines or progress."""
        self._loops.wake("notes")

    def renew(self) -> None:
        """A worker sent a heartbeat."""
        self._loops.wake("renew")

    def breakers(self) -> None:
        """A destination failed, or a probe ended."""
        self._loops.wake("breakers")
