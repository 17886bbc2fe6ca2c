"""A pause in the last moments before a due time still wins, on whichever node the worker is."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from tickwork.config import Settings
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import JobRequest
from tickwork.model.worker_protocol import Revoke, Runs
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


@pytest.fixture
async def two_nodes(settings: Settings, database_url: str) -> AsyncIterator[tuple[Node, Node]]:
    nodes = Node(settings), Node(settings)
    for node in nodes:
        await node.start()
    yield nodes
    for node in nodes:
        await node.stop()


@pytest.mark.parametrize("act", ["pause", "cancel"])
async def test_the_answer_waits_until_the_worker_has_let_go(
    two_nodes: tuple[Node, Node], database_url: str, act: str
) -> None:
    clock, (here, there) = SettableClock(database_url), two_nodes
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    await clock.set(noon)
    worker = await ScriptedWorker.connect(there, ["work"])
    await here.jobs.create(TENANT, [JobRequest(task="work", schedule="every 10s")])
    await clock.set(noon + timedelta(seconds=9, milliseconds=900))
    (run,) = (await worker.next_of(Runs)).items

    answer = asyncio.create_task(getattr(here.jobs, act)(TENANT, 1))
    revoke = await worker.next_of(Revoke)
    assert (revoke.items[0].job, revoke.items[0].at) == (run.job, run.at)
    assert not answer.done()
    await worker.tell(run, AttemptOutcome.CANCELLED)
    assert (await answer).status == ("paused" if act == "pause" else "cancelled")
