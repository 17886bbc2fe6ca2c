"""What a node publishes, and when."""

from contextlib import suppress
from typing import get_args

import pytest

from tickwork.loop_names import LoopName
from tickwork.model.event_after_commit import AttemptsEnded, Event, JobChanged, JobsCreated, WorkArrived
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


@pytest.fixture
def heard(still_node: Node) -> list[Event]:
    events: list[Event] = []
    for kind in get_args(Event):
        still_node._events.subscribe(kind, events.append)
    return events


async def test_an_event_is_published_after_the_commit(
    still_node: Node, worker: ScriptedWorker, heard: list[Event]
) -> None:
    async with still_node._database.transaction():
        await still_node.jobs.create(TENANT, [JobRequest(task="work")])
        assert heard == []
    assert heard == [JobsCreated([1]), WorkArrived(TENANT)]


async def test_nothing_is_published_of_what_is_rolled_back(
    still_node: Node, worker: ScriptedWorker, heard: list[Event]
) -> None:
    with suppress(ZeroDivisionError):
        async with still_node._database.transaction():
            await still_node.jobs.create(TENANT, [JobRequest(task="work")])
            raise ZeroDivisionError
    assert heard == []


async def test_each_change_of_a_job_is_published(
    still_node: Node, worker: ScriptedWorker, heard: list[Event]
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="@hourly")])
    await still_node.jobs.pause(TENANT, 1)
    await still_node.jobs.resume(TENANT, 1)
    assert heard == [JobsCreated([1]), JobChanged(TENANT, 1), JobChanged(TENANT, 1)]


async def test_outcomes_are_published_together(
    still_node: Node, worker: ScriptedWorker, heard: list[Event]
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")] * 3)
    await still_node.step("claim")
    runs = await worker.runs()
    heard.clear()
    await worker.report_all(runs)
    (ended,) = heard
    assert isinstance(ended, AttemptsEnded)
    assert sum(map(len, ended.outcomes)) == 3


def test_a_node_has_every_loop_that_has_a_name(still_node: Node) -> None:
    elsewhere = {"watch postgres", "watch replica", "archive history"}  # if there is one
    assert {*still_node._loops.names()} | elsewhere == {*get_args(LoopName)}
