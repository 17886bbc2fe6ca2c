"""Rules of a tenant tell of what becomes too much, and that it is over: dead letters, stuck queues, lost workers."""

import asyncio

import asyncpg
import pytest

from support.node_steps import run_due
from support.told_channel import BROKEN, MINUTE, ONCE, TENANT, ToldChannels, make_channel
from tickwork.config import Settings
from tickwork.dispatch import rescue
from tickwork.model.dead_letter import DeadLetterChoice, DeadLetterFilter
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker


@pytest.fixture
async def told(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> ToldChannels:
    await make_channel(connection)
    return await ToldChannels.of(still_node, clock, worker)


async def set_rule(node: Node, name: str = "rule", **rule: object) -> None:
    request = {"to": ["ops"], **rule}
    await node.notifications.rules.set(TENANT, name, NotificationRuleRequest(**request))  # type: ignore[arg-type]


async def titles(told: ToldChannels) -> list[str]:
    await told.node.step("tell exceeded limits")
    return [item.title for item in await told.items()]


async def test_more_dead_letters_than_a_rule_allows_are_told_of_once_and_when_there_are_fewer(
    told: ToldChannels,
) -> None:
    await set_rule(told.node, on=["dead_letters"], dead_letters_above=2)
    heard = []
    for _ in range(5):
        await told.create(retry=ONCE)
        await told.run(BROKEN)
        heard.append(await titles(told))
    assert heard == [[], [], ["There are more than 2 dead letters"], [], []]
    await told.node.dead_letters.discard(TENANT, DeadLetterChoice(filter=DeadLetterFilter()))
    assert await titles(told) == ["There are no more than 2 dead letters again"]


async def test_a_queue_of_which_nothing_starts_is_stuck_until_something_does(
    told: ToldChannels, still_node: Node
) -> None:
    await set_rule(told.node, on=["queue_stuck"], stuck_after="10m")
    await told.worker.leave_silently()
    await told.create(queue="mail")
    told.worker = told.sender
    heard = [await titles(told)]
    for _ in range(4):
        await told.later(4 * MINUTE)
        await told.create(queue="mail")  # more comes in, and nothing goes out
        heard.append(await titles(told))
    assert [len(each) for each in heard] == [0, 0, 0, 1, 0]
    assert heard[3][0].startswith("The queue mail is stuck: nothing of it has started for 7")
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await run_due(still_node)
    await worker.runs()
    assert await titles(told) == ["The queue mail is stuck no more"]


async def test_a_paused_queue_is_not_stuck(told: ToldChannels) -> None:
    await set_rule(told.node, on=["queue_stuck"], stuck_after="1m")
    await told.node.queues.pause(TENANT, "default")
    await told.create()
    for _ in range(3):
        assert await titles(told) == []
        await told.later(5 * MINUTE)


async def test_a_queue_that_moves_slowly_is_not_stuck(told: ToldChannels) -> None:
    """One job starts every four minutes, although others wait for longer than the rule says."""
    await set_rule(told.node, on=["queue_stuck"], stuck_after="5m", queue="default")
    for _ in range(6):
        await told.create(priority="low")
    for _ in range(4):
        await told.create(priority="high")
        assert await titles(told) == []
        await told.later(4 * MINUTE)
        await told.node.step("claim")
        (run, *_) = await told.worker.runs() or [None]
        if run:
            await told.worker.complete(run)


async def test_each_rule_hears_of_its_own_limit(told: ToldChannels) -> None:
    await set_rule(told.node, "few", on=["dead_letters"], dead_letters_above=0)
    await set_rule(told.node, "many", on=["dead_letters"], dead_letters_above=5)
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    assert await titles(told) == ["There are more than 0 dead letters"]


async def test_many_nodes_that_look_at_once_tell_once(told: ToldChannels, settings: Settings) -> None:
    await set_rule(told.node, on=["dead_letters"], dead_letters_above=0)
    await told.create(retry=ONCE)
    await told.run(BROKEN)
    others = [Node(settings) for _ in range(3)]
    for other in others:
        await other.open()
    await asyncio.gather(*(node.step("tell exceeded limits") for node in [told.node, *others] * 3))
    for other in others:
        await other.stop()
    assert len(await titles(told)) == 1


@pytest.mark.parametrize(("host", "where"), [("rack-7", " on rack-7"), ("", "")])
async def test_a_worker_that_is_lost_is_told_of(
    told: ToldChannels, monkeypatch: pytest.MonkeyPatch, host: str, where: str
) -> None:
    monkeypatch.setattr(rescue, "_GRACE", 0.0)
    await set_rule(told.node, on=["worker_lost"])
    lost = await ScriptedWorker.connect(told.node, ["work"], name="builder", host=host)
    await lost.leave_silently()
    await told.later(MINUTE)
    await told.node.step("rescue")
    assert await titles(told) == [f"The worker builder{where} was lost"]
