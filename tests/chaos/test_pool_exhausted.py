"""Requests hold every connection that a node has for them: its workers must not suffer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from support.waiting import eventually
from tickwork.model.worker_protocol import Beat, Renewed
from tickwork.node import Node
from tickwork.node_database import _CONNECTIONS
from tickwork.testing.scripted_worker import ScriptedWorker

_NEVER = 3600.0


async def test_leases_are_renewed_all_the_same(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        node._database, "_patience", _NEVER
    )  # who waits for one of those connections waits in vain
    worker = await ScriptedWorker.connect(node, tasks=["work"])
    async with _every_connection_taken(node), asyncio.timeout(30):
        for _ in range(3):
            await worker._connection.send(Beat(sent=monotonic(), credit=1))
            await worker.next_of(Renewed)


@asynccontextmanager
async def _every_connection_taken(node: Node) -> AsyncIterator[None]:
    released, taken = asyncio.Event(), []

    async def hold() -> None:
        async with node._database.transaction() as connection:
            taken.append(connection)
            await released.wait()

    holders = [asyncio.create_task(hold()) for _ in range(_CONNECTIONS)]
    await eventually(lambda: len(taken) == _CONNECTIONS, within=30, what="the last connection")
    try:
        yield
    finally:
        released.set()
        await asyncio.gather(*holders)
