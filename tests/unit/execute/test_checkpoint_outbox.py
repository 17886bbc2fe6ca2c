"""Checkpoints on their way from a worker to its server."""

import asyncio
from types import SimpleNamespace
from typing import Any

from tickwork.execute.checkpoint_outbox import CheckpointOutbox
from tickwork.model.task_checkpoints import NewCheckpoint
from tickwork.model.worker_protocol import Checkpointed, Checkpoints


def sent(outbox: CheckpointOutbox) -> list[Checkpoints]:
    """All that it sends without an answer."""
    messages: list[Checkpoints] = []
    while more := outbox.next_messages():
        messages += [each for each in more if isinstance(each, Checkpoints)]
    return messages


async def test_waits_for_answers_however_small_its_checkpoints_are() -> None:
    """A server would end its connection."""
    outbox = CheckpointOutbox(lambda: None)
    outbox.open()
    attempt: Any = SimpleNamespace(key=(1, 1, 1, 1), done=False)
    stored = [outbox.keep(attempt, NewCheckpoint(number, "step", b"1")) for number in range(1, 5001)]
    await asyncio.sleep(0)
    answered = 0
    while messages := sent(outbox):
        count = sum(len(message.items) for message in messages)
        assert count <= 1024
        answered += count
        for message in messages:
            outbox.acknowledge(Checkpointed(message.number))
    assert answered == 5000
    assert all(each.done() for each in stored)
