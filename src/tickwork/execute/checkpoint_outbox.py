"""Checkpoints to store, each kept until a server has answered, and what earlier attempts have stored.

A task waits for the answer. While there is no connection it goes on waiting, at most until its attempt is stopped
because the lease ends. What a lost connection leaves unanswered is sent again, to any server; storing it twice changes
nothing.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import chain
from typing import NamedTuple

from tickwork.execute.attempt_state import Attempt, Key
from tickwork.model.checkpoint import BYTES_OF_EACH, NOTHING_STORED, StoredCheckpoint
from tickwork.model.task_checkpoints import NewCheckpoint, settle
from tickwork.model.task_exceptions import AttemptLost, CheckpointError
from tickwork.model.worker_protocol import (
    Checkpoint,
    Checkpointed,
    Checkpoints,
    Claim,
    Recall,
    Recalled,
    RefusedCheckpoint,
)

_MOST_UNANSWERED = 1024 * 1024  # bytes sent and not yet answered; a single checkpoint may have more
_MOST_TOGETHER = 1_000
_NOT_OURS = "this attempt is no longer with this worker"


class _Pending(NamedTuple):
    attempt: Attempt
    checkpoint: NewCheckpoint
    stored: "Future[None]"

    @property
    def size(self) -> int:
        return len(self.checkpoint.value) + BYTES_OF_EACH


class CheckpointOutbox:
    """Everything but `keep` and `recalled` runs on the worker's event loop."""

    def __init__(self, checkpoint_ready: Callable[[], None]) -> None:
        self._checkpoint_ready = checkpoint_ready
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[_Pending] = deque()
        self._sent: dict[int, list[_Pending]] = {}
        self._unanswered_bytes = 0
        self._number = 0
        self._to_recall: list[Key] = []
        self._recalls: dict[Key, asyncio.Future[StoredCheckpoint]] = {}
        self._recalled: dict[Key, StoredCheckpoint] = {}  # of attempts that run

    def open(self) -> None:
        self._loop = asyncio.get_running_loop()

    # Called by tasks, from any thread

    def keep(self, attempt: Attempt, checkpoint: NewCheckpoint) -> "Future[None]":
        stored: Future[None] = Future()
        pending = _Pending(attempt, checkpoint, stored)
        try:
            assert self._loop  # noqa: S101 (for the type checker)
            self._loop.call_soon_threadsafe(self._add, pending)
        except RuntimeError:  # the loop is closed: the worker has stopped
            _lose(pending)
        return stored

    def recalled(self, attempt: Attempt) -> StoredCheckpoint:
        """What earlier attempts have stored; nothing unless `recall` was awaited."""
        return self._recalled.get(attempt.key, NOTHING_STORED)

    # Before and after an attempt

    async def recall(self, attempt: Attempt) -> None:
        """Ask a server what earlier attempts have stored, to be had until `forget`."""
        answer = self._recalls[attempt.key] = asyncio.get_running_loop().create_future()
        self._to_recall.append(attempt.key)
        self._checkpoint_ready()
        try:
            self._recalled[attempt.key] = await answer
        finally:
            del self._recalls[attempt.key]

    def forget(self, attempt: Attempt) -> None:
        self._recalled.pop(attempt.key, None)

    # Sent to the server

    def next_messages(self) -> list[Recall | Checkpoints]:
        messages: list[Recall | Checkpoints] = []
        if self._to_recall:
            messages.append(Recall([Claim(*key) for key in self._to_recall]))
            self._to_recall.clear()
        if batch := self._next_batch():
            self._number += 1
            self._sent[self._number] = batch
            messages.append(Checkpoints(self._number, [_message(pending) for pending in batch]))
        return messages

    def acknowledge(self, answer: Checkpointed) -> None:
        refused = {refusal.place: refusal for refusal in answer.refused}
        for place, pending in enumerate(self._sent.pop(answer.number, [])):
            self._unanswered_bytes -= pending.size
            settle(pending.stored, _error_of(refused[place]) if place in refused else None)
        if self._waiting:
            self._checkpoint_ready()

    def take_recalled(self, answer: Recalled) -> None:
        claim = answer.claim
        waiting = self._recalls.get((claim.tenant, claim.at, claim.job, claim.attempt))
        if waiting and not waiting.done():
            waiting.set_result(answer.stored)

    def resend(self) -> None:
        """Queue again what no server has answered, except for attempts that are no longer ours."""
        self._waiting = deque(chain(*self._sent.values(), self._waiting))
        self._sent.clear()
        self._unanswered_bytes = 0
        self._to_recall = list(self._recalls)
        self._checkpoint_ready()

    def clear(self) -> None:
        for pending in chain(*self._sent.values(), self._waiting):
            _lose(pending)
        self._waiting.clear()
        self._sent.clear()
        self._unanswered_bytes = 0
        self._to_recall.clear()

    def _add(self, pending: _Pending) -> None:
        self._waiting.append(pending)
        self._checkpoint_ready()

    def _next_batch(self) -> list[_Pending]:
        batch: list[_Pending] = []
        while self._waiting and len(batch) < _MOST_TOGETHER:
            pending = self._waiting[0]
            if self._unanswered_bytes and self._unanswered_bytes + pending.size > _MOST_UNANSWERED:
                break
            self._waiting.popleft()
            if pending.attempt.done:
                _lose(pending)
                continue
            self._unanswered_bytes += pending.size
            batch.append(pending)
        return batch


def _message(pending: _Pending) -> Checkpoint:
    new = pending.checkpoint
    return Checkpoint(*pending.attempt.key, new.number, new.step, new.value, new.took)


def _error_of(refusal: RefusedCheckpoint) -> BaseException:
    return AttemptLost(refusal.reason) if refusal.is_stale else CheckpointError(refusal.reason)


def _lose(pending: _Pending) -> None:
    settle(pending.stored, AttemptLost(_NOT_OURS))
