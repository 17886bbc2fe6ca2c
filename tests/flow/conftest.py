"""A worker at noon, for tests that go step by step."""

import pytest

from support.scripted import ScriptedWorker
from tickwork.app import Node
from tickwork.testing.clock import SettableClock


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    """Offers the task `work`, and runs it when told to."""
    return await ScriptedWorker.connect(still_node, ["work"])
