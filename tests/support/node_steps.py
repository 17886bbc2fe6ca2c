"""Driving a node by hand."""

from datetime import timedelta

from support.waiting import eventually
from tickwork.model.errors import Unavailable
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

_FINDS_WITHIN = 30.0  # seconds; it should be a few


async def later(clock: SettableClock, worker: ScriptedWorker | None, by: timedelta) -> None:
    """Time passes, and the worker goes on beating."""
    await clock.advance(by)
    if worker:
        await worker.beat()


async def run_due(node: Node) -> None:
    """All that is due is fired and handed out."""
    while await node.step("fire") or await node.step("claim"):
        pass


async def eventually_marks(node: Node) -> None:
    """The node has found the new primary."""

    async def marked() -> bool:
        try:
            await node.step("mark commits")
        except Unavailable:
            return False
        return True

    await eventually(marked, within=_FINDS_WITHIN, what="a mark on the new primary")
