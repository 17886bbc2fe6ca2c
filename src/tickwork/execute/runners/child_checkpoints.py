"""The checkpoints of a task in a child process: the worker stores them, and tells the child when that is done."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock

from tickwork.execute.runners.child_protocol import Keep, Kept
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.task_checkpoints import NewCheckpoint, settle
from tickwork.model.task_exceptions import AttemptLost, CheckpointError


class ChildCheckpoints:
    """Those of one attempt."""

    def __init__(self, stored: StoredCheckpoint, send: Callable[[Keep], None]) -> None:
        self._stored = stored
        self._send = send
        self._lock = Lock()
        self._unanswered: dict[int, Future[None]] = {}

    def recalled(self) -> StoredCheckpoint:
        return self._stored

    def keep(self, checkpoint: NewCheckpoint) -> "Future[None]":
        stored: Future[None] = Future()
        with self._lock:
            self._unanswered[checkpoint.number] = stored
        self._send(Keep(checkpoint))
        return stored

    def answer(self, kept: Kept) -> None:
        """Called by the thread that reads what the worker says."""
        with self._lock:
            stored = self._unanswered.pop(kept.number, None)
        if stored:
            settle(stored, _error_of(kept))


def _error_of(kept: Kept) -> BaseException | None:
    if kept.error is None:
        return None
    return AttemptLost(kept.error) if kept.is_lost else CheckpointError(kept.error)


def answer_of(number: int, stored: "Future[None]") -> Kept | None:
    """What the worker tells the child when a checkpoint is stored, or is not; None if it need not know."""
    if stored.cancelled():
        return None
    error = stored.exception()
    return Kept(number, None if error is None else str(error), isinstance(error, AttemptLost))
