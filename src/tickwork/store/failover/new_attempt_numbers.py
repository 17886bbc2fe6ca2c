"""Keeps the numbers of attempts unique after a failover that may have lost commits.

A commit that is lost may have given an attempt to a worker, which still has it. So executions that were due by the time
of the failover get numbers that no attempt had before, and nothing that the worker reports of the lost one is taken for
the new one.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from tickwork.model.public_ids import to_micros
from tickwork.model.worker_protocol import Micros

STEP = 100_000  # between the attempts before a failover and those after it: more than an execution ever has
CLOCKS_DIFFER = timedelta(
    seconds=10
)  # at most, between the old server and the new one, with the lead of a handover
_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class Fence(NamedTuple):
    due_until: datetime  # executions due until then are fenced
    first_attempt: int  # the smallest number that they get
    first_lease: int  # leases before it were written before the failover


class AttemptFence:
    """The fence of the last such failover. All stores of a node that hand executions over share it."""

    def __init__(self) -> None:
        self._fence = Fence(_NEVER, 1, 0)

    @property
    def columns(self) -> tuple[datetime, int]:
        """For statements that hand executions over."""
        return self._fence.due_until, self._fence.first_attempt

    @property
    def first_lease(self) -> int:
        return self._fence.first_lease

    @property
    def first_attempt(self) -> int:
        return self._fence.first_attempt

    @property
    def is_raised(self) -> bool:
        """Whether there ever was such a failover."""
        return self._fence.first_attempt > 1

    def raise_to(self, fence: Fence) -> bool:
        """Whether it was lower before."""
        higher = fence.first_attempt > self._fence.first_attempt
        if higher:
            self._fence = fence
        return higher

    def first_attempts(self, due: Sequence[Micros]) -> list[int]:
        """The number of the first attempt of each new execution."""
        if not self.is_raised:
            return [1] * len(due)
        until = to_micros(self._fence.due_until)
        return [self._fence.first_attempt if at <= until else 1 for at in due]
