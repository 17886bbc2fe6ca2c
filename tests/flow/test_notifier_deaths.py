"""A node dies after each statement between a failure and the end of its delivery: each fact is told once."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from support.dying_connection import Death, Died, let_die
from support.node_steps import run_due
from support.told_channel import BROKEN, GATHERING, MINUTE, ONCE, TENANT, make_channel, message_of
from tickwork.config import Settings
from tickwork.dispatch import rescue
from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.job import JobRequest
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

if TYPE_CHECKING:
    from tickwork.model.notification_message import NotificationMessage

JOBS = 2  # that fail before each death


class Installation:
    """One node at a time on one database, with the worker whose jobs fail, and the one that sends."""

    def __init__(self, settings: Settings, clock: SettableClock) -> None:
        self._settings = settings
        self._clock = clock
        self.ledger: list[NotificationMessage] = []

    async def begin(self, death: Death | None) -> None:
        self.node = Node(self._settings)
        await self.node.open()
        self.worker = await ScriptedWorker.connect(self.node, ["work"])
        self.sender = await ScriptedWorker.connect(self.node, [NOTIFY_TASK], tenant_id=None)
        if death:
            let_die(self.node, death.sent)

    async def end(self) -> None:
        """As if the process had been killed: nothing of it reaches the database."""
        for worker in (self.worker, self.sender):
            worker._attended.cancel()
        await self.node._opened.aclose()

    async def go_on(self) -> None:
        """All that happens between a failure and the end of its delivery."""
        await run_due(self.node)
        for run in await self.worker.runs():
            await self.worker.fail(run, BROKEN)
        await self._notify()
        await self._clock.advance(GATHERING)
        await self._notify()
        await self.node.step("claim")
        for run in await self.sender.runs():
            self.ledger.append(message_of(run))
            await self.sender.complete(run)
        await self._notify()

    async def recover(self) -> None:
        """Another node takes over what the dead one left."""
        await self._clock.advance(MINUTE)
        for worker in (self.worker, self.sender):
            await worker.beat()
        while await self.node.step("rescue"):
            pass
        for _ in range(3):
            await self._clock.advance(10 * GATHERING)
            for worker in (self.worker, self.sender):
                await worker.beat()
            await self.go_on()

    async def _notify(self) -> None:
        while await self.node.step("number events"):
            pass
        await self.node.step("notify")


@pytest.fixture
async def installation(
    settings: Settings,
    clock: SettableClock,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Installation]:
    monkeypatch.setattr(rescue, "_GRACE", 0.0)
    installation = Installation(settings, clock)
    await installation.begin(None)
    for name, kind in (("each", "webhook"), ("summed", "webhook"), ("pager", "pagerduty")):
        await make_channel(connection, name, kind=kind, window=300 if name == "summed" else 0, rate=1000)
    rule = NotificationRuleRequest(on=["failed"], to=["each", "summed", "pager"])
    await installation.node.notifications.rules.set(TENANT, "all", rule)
    yield installation
    await installation.end()


async def fail_some(node: Node) -> None:
    await node.jobs.create(TENANT, [JobRequest(task="work", retry=ONCE)] * JOBS)


async def statements_of_one_way(installation: Installation) -> list[str]:
    await fail_some(installation.node)
    alive = Death()
    let_die(installation.node, alive.sent)
    await installation.go_on()
    return alive.statements


@pytest.mark.timeout(
    900
)  # a hundred deaths take a minute and a half on a slow machine that does nothing else
async def test_each_fact_is_told_once_after_whichever_statement_the_node_dies(
    installation: Installation, connection: asyncpg.Connection
) -> None:
    way = await statements_of_one_way(installation)
    assert {"settle", "number_events", "gather_notifications", "create_message", "claim", "complete"} <= {
        *way
    }
    deaths: list[str] = []
    for number in range(1, len(way) + 1):
        await fail_some(installation.node)
        await installation.end()
        death = Death(after=number)
        await installation.begin(death)
        try:
            await installation.go_on()
        except Died as died:
            deaths.append(str(died))
        await installation.end()
        await installation.begin(None)
        await installation.recover()
    assert {"COMMIT", "gather_notifications", "create_message", "end_deliveries"} <= {*deaths}
    for _ in range(4):  # longer than the window of the channel that sums up
        await installation.recover()
    await everything_is_told_once(installation, connection)


async def everything_is_told_once(installation: Installation, connection: asyncpg.Connection) -> None:
    failed = await connection.fetchval(
        "SELECT count(*) FROM tickwork.execution WHERE status = 'failed' AND tenant_id = $1", TENANT
    )
    channels = {
        row["id"]: row["name"] for row in await connection.fetch("SELECT id, name FROM tickwork.channel")
    }
    received = {message.id: message for message in installation.ledger}
    assert all(message == received[message.id] for message in installation.ledger)
    told: dict[str, list[str]] = {name: [] for name in channels.values()}
    counted = dict.fromkeys(channels.values(), 0)
    for message in received.values():
        name = channels[message.channel_id]
        counted[name] += sum(item.count for item in message.items)
        told[name] += [item.execution.id for item in message.items if item.execution]
    assert counted == dict.fromkeys(channels.values(), failed)
    assert len({*told["each"]}) == len(told["each"]) == failed
    left = await connection.fetch("SELECT status, count(*) FROM tickwork.notification GROUP BY 1")
    assert {row["status"] for row in left} == {"sent"}
