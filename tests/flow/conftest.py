"""A worker and nodes at noon, for tests that go step by step."""

from collections.abc import AsyncIterator

import pytest

from tickwork.config import Settings
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    """Offers the task `work`, and runs it when told to."""
    return await ScriptedWorker.connect(still_node, ["work"])


@pytest.fixture
async def nodes(clock: SettableClock, settings: Settings) -> AsyncIterator[list[Node]]:
    """Three of them on one database."""
    nodes = [Node(settings) for _ in range(3)]
    for node in nodes:
        await node.open()
    yield nodes
    for node in nodes:
        await node.stop()
