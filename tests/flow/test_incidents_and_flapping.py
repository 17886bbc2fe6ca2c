"""Channels that keep incidents get one for each cause, closed when all is well. Flapping is told once."""

from datetime import timedelta

import asyncpg
import pytest

from support.told_channel import (
    BROKEN,
    HOUR,
    MINUTE,
    ONCE,
    TENANT,
    ToldChannels,
    make_channel,
)
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.model.notification_view import NotificationFilter
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

OTHER = Failure("KeyError", "no such customer", "Traceback …")


@pytest.fixture
async def told(clock: SettableClock, still_node: Node, worker: ScriptedWorker) -> ToldChannels:
    return await ToldChannels.of(still_node, clock, worker)


@pytest.fixture
async def pager(told: ToldChannels, connection: asyncpg.Connection) -> int:
    channel = await make_channel(connection, kind="pagerduty")
    await tell_of(told.node, "failed")
    return channel


async def tell_of(node: Node, *kinds: str) -> None:
    rule = NotificationRuleRequest(on=[*kinds], to=["ops"])  # type: ignore[list-item]
    await node.notifications.rules.set(TENANT, "all", rule)


async def round_of(told: ToldChannels, *outcomes: Failure | None) -> list[NotificationMessage]:
    """A minute later all jobs run, in the order of their numbers, each with its outcome."""
    await told.later(MINUTE)
    while await told.node.step("fire") or await told.node.step("claim"):
        pass
    runs = sorted(await told.worker.runs(), key=lambda run: run.job)
    for run, failure in zip(runs, outcomes, strict=True):
        await (told.worker.fail(run, failure) if failure else told.worker.complete(run))
    await told.node.step("read failing jobs")
    messages = await told.messages()
    while more := await told.messages():
        messages += more
    return messages


def actions(messages: list[NotificationMessage]) -> list[str]:
    return [message.incident.action for message in messages if message.incident]


async def test_an_incident_is_closed_when_every_job_that_failed_under_it_has_recovered(
    told: ToldChannels, pager: int
) -> None:
    for _ in range(3):
        await told.create(schedule="every 1m", retry=ONCE)
    (opened,) = await round_of(told, BROKEN, BROKEN, BROKEN)
    assert (actions([opened]), opened.items[0].count) == (["open"], 3)
    assert await round_of(told, None, BROKEN, None) == []
    (closed,) = await round_of(told, None, None, None)
    assert actions([closed]) == ["close"]
    assert closed.incident.key == opened.incident.key
    assert [item.kind for item in closed.items] == ["execution.recovered"]


async def test_each_cause_is_an_incident_and_a_message_of_its_own(told: ToldChannels, pager: int) -> None:
    for _ in range(2):
        await told.create(schedule="every 1m", retry=ONCE)
    messages = await round_of(told, BROKEN, OTHER)
    assert actions(messages) == ["open", "open"]
    assert len({message.incident.key for message in messages}) == 2
    closed = await round_of(told, None, None)
    assert {message.incident.key for message in closed} == {message.incident.key for message in messages}


async def test_a_failure_after_the_close_opens_it_again_at_once(told: ToldChannels, pager: int) -> None:
    await told.create(schedule="every 1m", retry=ONCE)
    seen = [actions(await round_of(told, outcome)) for outcome in (BROKEN, None, BROKEN, None)]
    assert seen == [["open"], ["close"], ["open"], ["close"]]


async def test_an_incident_that_goes_on_is_told_again_after_its_window_and_not_after_its_close(
    told: ToldChannels, pager: int
) -> None:
    await told.create(schedule="every 1m", retry=ONCE)
    seen = [actions(await round_of(told, BROKEN)) for _ in range(7)]
    assert [action for each in seen for action in each] == ["open", "open"]
    assert actions(await round_of(told, None)) == ["close"]
    await told.node.jobs.pause(TENANT, 1)
    assert await told.messages(after=2 * HOUR) == []
    page = await told.node.notifications.log.list(TENANT, NotificationFilter(), 10, None)
    assert {str(each.status) for each in page.items} == {"sent"}


async def test_a_one_time_job_opens_an_incident_that_nothing_closes(told: ToldChannels, pager: int) -> None:
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    assert actions(await told.messages()) == ["open"]
    assert await told.messages(after=HOUR) == []


async def test_a_job_that_flaps_is_told_of_once_and_when_it_has_settled(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await tell_of(told.node, "failed", "recovered")
    await told.create(schedule="every 1m", retry=ONCE, name="report")
    titles = [
        item.title
        for outcome in (BROKEN, None) * 15
        for message in await round_of(told, outcome)
        for item in message.items
    ]
    flapping = [title for title in titles if "flapping" in title]
    assert len(flapping) == 1
    assert titles.index(flapping[0]) <= 4
    assert len(titles) <= 5
    await told.node.jobs.pause(TENANT, 1)
    await told.items(after=timedelta(minutes=10))
    assert await told.items(after=HOUR) == []
    (settled,) = await told.items()
    assert settled.title.startswith("report is flapping no more: it works since ")


async def test_the_incident_of_a_job_that_flaps_stays_open_until_it_has_settled(
    told: ToldChannels, pager: int
) -> None:
    await told.create(schedule="every 1m", retry=ONCE)
    seen = [action for outcome in (BROKEN, None) * 8 for action in actions(await round_of(told, outcome))]
    assert seen == ["open", "close", "open", "close", "open"]
    await told.node.jobs.pause(TENANT, 1)
    assert actions(await told.messages(after=2 * HOUR)) == []
    assert actions(await told.messages()) == ["close"]
