"""Driving a node by hand."""

from datetime import timedelta

from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


async def later(clock: SettableClock, worker: ScriptedWorker | None, by: timedelta) -> None:
    """Time passes, and the worker goes on beating."""
    await clock.advance(by)
    if worker:
        await worker.beat()


async def run_due(node: Node) -> None:
    """All that is due is fired and handed out."""
    while await node.step("fire") or await node.step("claim"):
        pass
