"""Wakes the loops of this node before their next interval, when they have something to do."""

from collections.abc import Callable
from functools import partial

from tickwork.loop import Loops


class Wake:
    """One method for each loop that can be woken.

    A loop that reads its work from the database is woken after the commit of the open transaction: before that it would
    find nothing. A loop that has its work in memory is woken at once.
    """

    def __init__(self, loops: Loops, after_commit: Callable[[Callable[[], None]], None]) -> None:
        self._loops = loops
        self._after_commit = after_commit

    # Work in the database

    def fire_in_parallel(self) -> None:
        """Many executions are due, so a second loop helps: one waits for the database while the other computes."""
        self._after_commit(partial(self._loops.wake, "fire in parallel"))

    def backfill(self) -> None:
        """A backfill was started."""
        self._after_commit(partial(self._loops.wake, "backfill"))

    def claim(self) -> None:
        """Executions may wait for which a connected worker has capacity."""
        self._after_commit(partial(self._loops.wake, "claim"))

    def revoke(self) -> None:
        """A worker may have an execution that was cancelled."""
        self._after_commit(partial(self._loops.wake, "revoke"))

    # Work in memory

    def record(self) -> None:
        """Workers reported outcomes."""
        self._loops.wake("record")

    def write_logs(self) -> None:
        """Workers sent log lines or progress."""
        self._loops.wake("write logs")

    def renew(self) -> None:
        """A worker sent a heartbeat."""
        self._loops.wake("renew")

    def update_breakers(self) -> None:
        """A destination failed, or a probe ended."""
        self._loops.wake("update breakers")
