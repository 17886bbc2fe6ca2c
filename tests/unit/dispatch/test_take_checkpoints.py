"""Checkpoints that a connected worker sends: how much of them a server has in memory."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.take_checkpoints import take_checkpoints
from tickwork.dispatch.worker_message_channel import BrokenProtocol
from tickwork.model.checkpoint import StoredCheckpoint
from tickwork.model.execution import ExecutionKey
from tickwork.model.worker_protocol import Checkpoint, Checkpoints, Hello, RefusedCheckpoint
from tickwork.store.port.checkpoint import NewCheckpoint
from tickwork.store.port.dispatch import WorkerConnection

MEGABYTE = 1024 * 1024


class SlowStorage:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.answers: list[Callable[[Sequence[RefusedCheckpoint]], None]] = []

    def submit(
        self,
        checkpoints: Sequence[NewCheckpoint],  # noqa: ARG002 (they are not stored)
        answered: Callable[[Sequence[RefusedCheckpoint]], None],
    ) -> None:
        self.answers.append(answered)

    def submit_recall(self, key: ExecutionKey, recalled: Callable[[StoredCheckpoint], None]) -> None:
        raise NotImplementedError


@pytest.fixture
def worker() -> ConnectedWorker:
    def ignore(*_: Any) -> None: ...

    hello = Hello(name="w", host="h", version="1", tasks=[], slots=1, credit=1)
    return ConnectedWorker(WorkerConnection(1, 1), 1, hello, ignore, ignore)


def message(value: bytes, count: int) -> Checkpoints:
    return Checkpoints(1, [Checkpoint(1, 1, 1, 1, 1, f"step {number}", value) for number in range(count)])


@pytest.mark.parametrize(("value", "count"), [(b"1", 1000), (b"x" * MEGABYTE, 1)])
def test_a_worker_that_does_not_wait_loses_its_connection(
    worker: ConnectedWorker, value: bytes, count: int
) -> None:
    """Also if each of its checkpoints is small: 16 MB of single digits would be gigabytes of objects."""

    def send_many() -> None:
        for _ in range(20):
            take_checkpoints(worker, message(value, count), SlowStorage())

    with pytest.raises(BrokenProtocol, match="without waiting"):
        send_many()


def test_a_worker_that_waits_may_go_on(worker: ConnectedWorker) -> None:
    storage = SlowStorage()
    for _ in range(100):
        take_checkpoints(worker, message(b"1", 1000), storage)
        storage.answers.pop()([])
    assert worker.unstored_bytes == 0
