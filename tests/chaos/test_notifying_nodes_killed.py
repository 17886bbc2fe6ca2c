"""Nodes are killed between failures and their deliveries, at random moments and after every kind of statement: each
fact reaches a receiver once, as it knows messages by their id."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import asyncpg
import msgspec
import pytest
from aiohttp import web

from support.cluster import Program
from support.notifying_node import STARTED
from support.told_channel import ONCE, TENANT, make_channel, request_of
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.model.notification_message import NotificationMessage
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

_SEED = 20261130
_NODES = 3
_CHANNELS = 12
_TESTS = Path(__file__).parent.parent
_STATEMENTS = (
    "settle", "write_attempt_events", "number_events", "set_last_event", "lock_notifier", "facts_after",
    "move_notifier", "gather_notifications", "due_channels", "insert_jobs", "create_message", "tell_notifications",
    "open_windows", "claim", "complete", "write_told_completions", "end_deliveries", "COMMIT",
)  # fmt: skip
_UNSENT = "SELECT count(*) FROM tickwork.notification WHERE status <> 'sent'"
_UNENDED = "SELECT count(*) FROM tickwork.execution WHERE finished_at IS NULL"
_FAILED = "SELECT count(*) FROM tickwork.execution WHERE tenant_id = $1 AND status = 'failed'"
_ALL_HANDLED = """
SELECT (SELECT place FROM tickwork.notifier) = (SELECT number FROM tickwork.last_event)
    AND NOT EXISTS (SELECT FROM tickwork.new_event)
"""


class Receiver:
    """Writes down what it is sent, and sometimes answers late, or not before it is asked again."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.ledger: list[tuple[str, NotificationMessage]] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        message = msgspec.json.decode(await request.read(), type=NotificationMessage)
        self.ledger.append((request.headers["webhook-id"], message))
        await asyncio.sleep(self._random.uniform(0, 0.05))
        return web.Response(status=503 if self._random.random() < 0.02 else 200)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Receiver"]:
        application = web.Application()
        application.router.add_post("/", self.answer)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        yield self
        await runner.cleanup()


@pytest.fixture
async def maker(settings: Settings) -> AsyncIterator[Node]:
    """Creates jobs, and does nothing else."""
    node = Node(settings)
    await node.open()
    await ScriptedWorker.offer_only(node, ["work"])
    yield node
    await node.stop()


def program(number: int, url: str, database_url: str, folder: Path, die_after: str | None) -> Program:
    env = {"TICKWORK_DATABASE_URL": database_url, "PYTHONPATH": str(_TESTS)}
    if die_after:
        env["TICKWORK_DIE_AFTER"] = die_after
    return Program(
        f"node-{number}", [url], says=STARTED, env=env, folder=folder, module="support.notifying_node"
    )


async def test_each_fact_reaches_the_receivers_ledger_once_however_many_nodes_are_killed(
    maker: Node,
    database_url: str,
    connection: asyncpg.Connection,
    tmp_path: Path,
    long: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kills = int(os.environ.get("TICKWORK_NOTIFY_KILLS") or (500 if long else 8))
    random = Random(_SEED)  # noqa: S311 (to be repeated, not to be kept secret)
    names = [f"channel-{number}" for number in range(_CHANNELS)]
    for number, name in enumerate(names):
        await make_channel(connection, name, window=0 if number % 2 else 1, rate=10_000)
    async with Receiver(random).listening() as receiver:
        nodes = [program(n, receiver.url, database_url, tmp_path, None) for n in range(_NODES)]
        for node in nodes:
            await node.start()
        making = asyncio.create_task(_make_jobs(maker, names, random))
        for number in range(kills):
            victim = number % _NODES
            await _die(nodes[victim], random)
            after = _STATEMENTS[number % len(_STATEMENTS)] if random.random() < 0.6 else None
            nodes[victim] = program(victim, receiver.url, database_url, tmp_path, after)
            nodes[victim].launch()
        making.cancel()
        for victim, node in enumerate(nodes):
            node.kill()
            nodes[victim] = program(victim, receiver.url, database_url, tmp_path, None)
            await nodes[victim].start()
        await _until_all_is_told(connection)
        for node in nodes:
            node.clean_up()
    with capsys.disabled():
        await _check(connection, receiver, kills, print if long else _say_nothing)


async def _make_jobs(maker: Node, channels: list[str], random: Random) -> None:
    while True:
        requests = [
            request_of(retry=ONCE, notify=[{"on": ["failed"], "to": random.sample(channels, 2)}])
            for _ in range(random.randint(1, 4))
        ]
        await maker.jobs.create(TENANT, requests)
        await asyncio.sleep(random.uniform(0.02, 0.1))


async def _die(node: Program, random: Random) -> None:
    """It kills itself at its statement, or is killed at some moment."""
    moment = random.uniform(0.3, 2.5)
    for _ in range(int(moment / 0.05)):
        if node.exit_code is not None:
            return
        await asyncio.sleep(0.05)
    node.kill()


async def _until_all_is_told(connection: asyncpg.Connection) -> None:
    async def is_told() -> bool:
        left = await connection.fetchval(_UNSENT) + await connection.fetchval(_UNENDED)
        return left == 0 and await connection.fetchval(_ALL_HANDLED)

    await eventually(is_told, within=300, what="the end of all deliveries")


async def _check(
    connection: asyncpg.Connection, receiver: Receiver, kills: int, say: Callable[[str], None]
) -> None:
    received: dict[str, NotificationMessage] = {}
    for dedupe_id, message in receiver.ledger:
        assert dedupe_id == message.id
        assert received.setdefault(message.id, message) == message
    failed = await connection.fetchval(_FAILED, TENANT)
    by_channel: dict[int, int] = {}
    each: list[tuple[int, str]] = []
    for message in received.values():
        by_channel[message.channel_id] = by_channel.get(message.channel_id, 0) + sum(
            item.count for item in message.items
        )
        each += [
            (message.channel_id, item.execution.id)
            for item in message.items
            if item.count == 1 and item.execution
        ]
    wanted = await connection.fetch(_WANTED, TENANT)
    assert by_channel == {row["id"]: row["facts"] for row in wanted}
    assert len({*each}) == len(each)
    say(
        f"{kills} kills: {failed} failures, {sum(by_channel.values())} facts told in {len(received)} messages, "
        f"{len(receiver.ledger)} posts, none lost, none doubled"
    )


_WANTED = """
SELECT c.id, count(*) AS facts FROM tickwork.job j
CROSS JOIN LATERAL
    jsonb_array_elements_text(convert_from(j.definition, 'UTF8')::jsonb #> '{notify,0,to}') AS named (channel)
JOIN tickwork.channel c ON c.tenant_id = j.tenant_id AND c.name = named.channel
WHERE j.tenant_id = $1 GROUP BY c.id
"""


def _say_nothing(_: str) -> None:
    pass
