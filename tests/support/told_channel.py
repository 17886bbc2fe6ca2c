"""A channel that tells a test what it was told, without a network: the test plays the worker that sends."""

from datetime import timedelta
from typing import Any

import asyncpg
import msgspec

from support.node_steps import run_due
from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.notification_message import NotificationItem, NotificationMessage
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
GATHERING = 3 * SECOND  # longer than the first facts of a cause are gathered
ONCE = RetryRequest(max_attempts=1)
BROKEN = Failure("ValueError", "row 17 of 99 is broken", "Traceback …")
AWAY = Failure("ConnectionError", "nobody answers")

_MAKE = """
INSERT INTO tickwork.channel (tenant_id, name, kind, settings, secret, severity, quiet, digest, window_seconds, rate)
VALUES ($1, $2, $3, '{}', '{}', $4, $5, $6, $7, $8) RETURNING id
"""


async def make_channel(
    connection: asyncpg.Connection,
    name: str = "ops",
    *,
    tenant_id: int = TENANT,
    kind: str = "webhook",
    severity: str = "info",
    quiet: dict[str, str] | None = None,
    digest: str = "immediately",
    window: float = 300.0,
    rate: int = 30,
) -> int:
    text = msgspec.json.encode(quiet).decode() if quiet else None
    number: int = await connection.fetchval(
        _MAKE, tenant_id, name, kind, severity, text, digest, window, rate
    )
    return number


def request_of(**job: Any) -> JobRequest:
    """As it would come by the API."""
    return msgspec.convert(msgspec.to_builtins({"task": "work"} | job), JobRequest)


def message_of(run: Run) -> NotificationMessage:
    return msgspec.json.decode(run.payload, type=NotificationMessage)


class ToldChannels:
    """Takes the deliveries of a still node, and drives it from a fact to its message."""

    def __init__(
        self, node: Node, clock: SettableClock, sender: ScriptedWorker, worker: ScriptedWorker
    ) -> None:
        self.node = node
        self.worker = worker
        self.sender = sender
        self._clock = clock

    @classmethod
    async def of(cls, node: Node, clock: SettableClock, worker: ScriptedWorker) -> "ToldChannels":
        sender = await ScriptedWorker.connect(node, [NOTIFY_TASK], tenant_id=None)
        return cls(node, clock, sender, worker)

    async def create(self, **job: Any) -> str:
        (view,) = await self.node.jobs.create(TENANT, [request_of(**job)])
        return view.id

    async def run(self, failure: Failure | None = None) -> None:
        """Whatever is due runs, and fails if told to."""
        await run_due(self.node)
        for run in await self.worker.runs():
            await (self.worker.fail(run, failure) if failure else self.worker.complete(run))
        await self.node.step("read failing jobs")

    async def later(self, by: timedelta) -> None:
        await self._clock.advance(by)
        await self.worker.beat()
        await self.sender.beat()

    async def gather(self) -> None:
        """What happened is numbered and gathered, and what is due is sent."""
        while await self.node.step("number events"):
            pass
        while await self.node.step("notify"):
            pass

    async def deliveries(self, after: timedelta = GATHERING) -> list[Run]:
        """What is handed to the sender after a while."""
        await self.gather()
        await self.later(after)
        await self.gather()
        await self.node.step("claim")
        return await self.sender.runs()

    async def messages(self, after: timedelta = GATHERING) -> list[NotificationMessage]:
        """What was told after a while, and arrived."""
        runs = await self.deliveries(after)
        for run in runs:
            await self.sender.complete(run)
        await self.gather()
        return [message_of(run) for run in runs]

    async def items(self, after: timedelta = GATHERING) -> list[NotificationItem]:
        return [item for message in await self.messages(after) for item in message.items]
