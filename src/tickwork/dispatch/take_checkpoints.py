"""The checkpoints that a connected worker sends, and what it asks of those of earlier attempts."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.worker_message_channel import BrokenProtocol
from tickwork.model.checkpoint import BYTES_OF_EACH, StoredCheckpoint
from tickwork.model.execution import ExecutionKey
from tickwork.model.validate_worker_reports import checkpoint_error
from tickwork.model.worker_protocol import (
    Checkpoint,
    Checkpointed,
    Checkpoints,
    Claim,
    Recall,
    Recalled,
    RefusedCheckpoint,
    execution_key,
)
from tickwork.store.port.checkpoint import NewCheckpoint
from tickwork.store.port.record import Claimed

_NOT_ITS_OWN = "this worker does not have the attempt, or no longer"
_MOST_UNSTORED = 16 * 1024 * 1024  # bytes that one worker has sent and that are not stored yet
_MOST_REMEMBERED = 1_000  # attempts that were recalled, before those that have ended are forgotten


class CheckpointStorage(Protocol):
    """Stores checkpoints and gives them back. `answered` gets those that are refused, once the others are committed."""

    def submit(
        self,
        checkpoints: Sequence[NewCheckpoint],
        answered: Callable[[Sequence[RefusedCheckpoint]], None],
    ) -> None: ...

    def submit_recall(self, key: ExecutionKey, recalled: Callable[[StoredCheckpoint], None]) -> None: ...


def take_checkpoints(worker: ConnectedWorker, message: Checkpoints, storage: CheckpointStorage) -> None:
    """Store steps and states of attempts that the worker has. The message is answered once, when all that is valid in
    it is committed."""
    size = sum(len(each.value) + BYTES_OF_EACH for each in message.items)
    worker.unstored_bytes += size
    if worker.unstored_bytes > _MOST_UNSTORED:
        raise BrokenProtocol("it sends checkpoints without waiting for answers")
    problems = [_problem(worker, place, each) for place, each in enumerate(message.items)]
    refused = [problem for problem in problems if problem]
    valid = [place for place, problem in enumerate(problems) if problem is None]

    def answer(also_refused: Sequence[RefusedCheckpoint]) -> None:
        worker.unstored_bytes -= size
        placed = [msgspec.structs.replace(each, place=valid[each.place]) for each in also_refused]
        worker.send(Checkpointed(message.number, [*refused, *placed]))

    storage.submit([_new_checkpoint(worker, message.items[place]) for place in valid], answer)


def take_recall(worker: ConnectedWorker, message: Recall, storage: CheckpointStorage) -> None:
    """Give the worker what earlier attempts have stored, once for each attempt and connection. Attempts that it does
    not have are not answered: it is told to forget or to stop them."""
    if len(worker.recalled) > _MOST_REMEMBERED:
        worker.recalled = {claim for claim in worker.recalled if _has_attempt(worker, claim)}
    for claim in message.items:
        if _has_attempt(worker, claim) and claim not in worker.recalled:
            worker.recalled.add(claim)
            storage.submit_recall(execution_key(claim), _send_recalled(worker, claim))


def _problem(worker: ConnectedWorker, place: int, checkpoint: Checkpoint) -> RefusedCheckpoint | None:
    if not _has_attempt(worker, checkpoint):
        return RefusedCheckpoint(place, _NOT_ITS_OWN, is_stale=True)
    error = checkpoint_error(checkpoint)
    return RefusedCheckpoint(place, error) if error else None


def _new_checkpoint(worker: ConnectedWorker, sent: Checkpoint) -> NewCheckpoint:
    claimed = Claimed(execution_key(sent), worker.id, sent.attempt)
    return NewCheckpoint(claimed, sent.number, sent.step, sent.value, sent.took)


def _send_recalled(worker: ConnectedWorker, claim: Claim) -> Callable[[StoredCheckpoint], None]:
    return lambda stored: worker.send(Recalled(claim, stored))


def _has_attempt(worker: ConnectedWorker, sent: Claim | Checkpoint) -> bool:
    return worker.leased_attempt((sent.tenant, sent.at, sent.job)) == sent.attempt
