"""What is asked of the store about checkpoints."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from tickwork.model.checkpoint import CheckpointView, StoredCheckpoint
from tickwork.model.execution import ExecutionKey
from tickwork.store.port.record import Claimed


class NewCheckpoint(NamedTuple):
    """A step that is done, or a state, of an attempt that a worker is believed to have."""

    claimed: Claimed
    number: int  # of a state: it replaces those of its attempt with lower numbers
    step: str | None  # its name; None: this is the state
    value: bytes  # JSON
    took: float | None  # seconds that the step ran


class KeepAnswer(Enum):
    STORED = auto()  # now or before, or a newer state is
    BUSY = auto()  # another transaction has locked the execution: to be repeated
    STALE = auto()  # the worker does not have the attempt, or no longer
    TAKEN = auto()  # the step is stored with another result
    TOO_MANY = auto()
    TOO_LARGE = auto()


class CheckpointStore(Protocol):
    async def keep(self, checkpoints: Sequence[NewCheckpoint]) -> list[KeepAnswer]:
        """Store those whose attempts run. An answer for each."""

    async def recall(self, keys: Sequence[ExecutionKey]) -> list[StoredCheckpoint]:
        """What the attempts of these executions have stored."""

    async def view(self, key: ExecutionKey) -> CheckpointView:
        """NotFound when there is no such execution."""

    async def delete(self, key: ExecutionKey) -> None:
        """NotFound, or Conflict while an attempt runs and when it has completed."""
