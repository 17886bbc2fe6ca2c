"""What happens at a due time while an earlier execution of the same job has not ended.

Firing, joining a rule late and run now all ask `decide`, so that a policy means the same in all three.
"""

from datetime import datetime
from typing import Literal, NamedTuple, assert_never

Overlap = Literal["skip", "queue", "allow", "replace"]
QUEUE_LIMIT = 100  # executions of one job that wait for one another


class Blocker(NamedTuple):
    """The execution of a job that has not ended."""

    scheduled_for: datetime
    queued: int  # executions of the job that wait for one another


class Run(NamedTuple):
    """It runs."""


class Skip(NamedTuple):
    """It does not run."""

    blocked_by: datetime
    queue_is_full: bool = False

    @property
    def reason(self) -> str:
        """As it is stored with the skipped execution."""
        return f"overlap: {QUEUE_LIMIT} wait already" if self.queue_is_full else "overlap"


class Queue(NamedTuple):
    """It runs when the one before it has ended."""

    blocked_by: datetime


class Replace(NamedTuple):
    """It runs, and the one before it is cancelled."""

    replaced: datetime


Decision = Run | Skip | Queue | Replace


def decide(policy: Overlap, blocker: Blocker | None) -> Decision:
    if blocker is None:
        return Run()
    match policy:
        case "allow":
            return Run()
        case "skip":
            return Skip(blocker.scheduled_for)
        case "queue":
            if blocker.queued >= QUEUE_LIMIT:
                return Skip(blocker.scheduled_for, queue_is_full=True)
            return Queue(blocker.scheduled_for)
        case "replace":
            return Replace(blocker.scheduled_for)
        case _:
            assert_never(policy)
