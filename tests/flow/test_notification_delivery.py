"""Deliveries are executions: a built-in worker with slots of its own sends each message to its channel."""

import asyncio
from typing import Any

import asyncpg
import msgspec
import pytest

from support.channel_receivers import SLACK_PATH, Slack
from support.deliveries import create_delivery
from support.loopback_target import Request, Target, hang, respond, target
from support.sample_notification import message
from support.waiting import eventually
from tickwork.model.access import DEFAULT_TENANT
from tickwork.model.channel import Channel
from tickwork.model.errors import Invalid
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import JobRequest
from tickwork.model.notification_message import NotificationMessage
from tickwork.node import Node

SOON = 20.0
_ENDED = """
SELECT status::text, attempt, result, reason FROM tickwork.execution WHERE job_id = $1 AND finished_at IS NOT NULL
"""


async def channel_of(node: Node, name: str = "ops", **fields: Any) -> NotificationMessage:
    """A message to a new channel of the default tenant."""
    tenant_id = (await node.keys.operator()).tenant_id
    made: Channel = msgspec.convert(fields, Channel)
    await node.channels.set(tenant_id, name, made)
    row = await node._database.fetchrow("SELECT id FROM tickwork.channel WHERE name = $1", name)
    return msgspec.structs.replace(message(), tenant_id=tenant_id, channel_id=row["id"])


async def ended(connection: asyncpg.Connection, job: int) -> asyncpg.Record:
    return await eventually(lambda: connection.fetchrow(_ENDED, job), within=SOON)


async def attempts(connection: asyncpg.Connection, job: int) -> list[tuple[str, str]]:
    rows = await connection.fetch(
        "SELECT outcome::text, error FROM tickwork.attempt WHERE job_id = $1 ORDER BY attempt", job
    )
    return [
        (row["outcome"], msgspec.json.decode(row["error"])["message"] if row["error"] else "") for row in rows
    ]


async def test_a_delivery_ends_with_what_the_receiver_answered(
    node: Node, connection: asyncpg.Connection
) -> None:
    slack = Slack()
    async with target(slack) as served:
        told = await channel_of(node, kind="slack", url=served.url(SLACK_PATH))
        end = await ended(connection, await create_delivery(node, told))
    assert (end["status"], msgspec.json.decode(end["result"])) == ("completed", {"status": 200, "body": "ok"})
    assert len(slack.told) == 1


async def test_is_retried_with_the_same_id_until_the_receiver_takes_it(
    node: Node, connection: asyncpg.Connection
) -> None:
    answers = [respond("503 Service Unavailable"), respond("500 Oops"), respond()]

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        await answers.pop(0)(request, writer)

    async with target(answer) as served:
        told = await channel_of(node, kind="webhook", url=served.url())
        job = await create_delivery(node, told)
        end = await ended(connection, job)
    assert (end["status"], end["attempt"]) == ("completed", 3)
    assert {request.headers["webhook-id"] for request in served.requests} == {told.id}
    assert [outcome for outcome, _ in await attempts(connection, job)] == ["failed", "failed"]


async def test_a_delivery_that_fails_for_good_is_a_dead_letter_that_says_why(
    node: Node, connection: asyncpg.Connection
) -> None:
    async with target(Slack()) as served:
        told = await channel_of(node, kind="slack", url=served.url("/services/T0/B0/a-token-that-is-old"))
        job = await create_delivery(node, told)
        end = await ended(connection, job)
    assert (end["status"], end["reason"]) == ("failed", "not to be retried")
    assert await attempts(connection, job) == [("failed", "127.0.0.1 answered 404 Not Found: no_service")]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.dead_letter WHERE job_id = $1", job) == 1


async def test_uses_the_channel_as_it_is_when_it_is_sent(node: Node, connection: asyncpg.Connection) -> None:
    """A paused channel makes its deliveries wait without using attempts."""
    async with target(respond()) as old, target(respond()) as new:
        told = await channel_of(node, kind="webhook", url=old.url(), paused=True)
        job = await create_delivery(node, told)
        await eventually(lambda: _outcomes(connection, job), within=SOON)
        await channel_of(node, kind="webhook", url=new.url())
        end = await ended(connection, job)
    assert (end["status"], len(old.requests), len(new.requests)) == ("completed", 0, 1)
    assert {outcome for outcome, _ in await attempts(connection, job)} == {"snoozed"}


async def _outcomes(connection: asyncpg.Connection, job: int) -> int:
    return await connection.fetchval("SELECT count(*) FROM tickwork.attempt WHERE job_id = $1", job)


async def test_a_channel_that_was_deleted_fails_its_deliveries(
    node: Node, connection: asyncpg.Connection
) -> None:
    told = await channel_of(node, kind="webhook", url="http://127.0.0.1:9/")
    await node.channels.delete(told.tenant_id, "ops")
    job = await create_delivery(node, told)
    assert (await ended(connection, job))["status"] == "failed"
    assert await attempts(connection, job) == [("failed", "the channel was deleted")]


async def test_a_channel_of_another_tenant_is_not_found(node: Node, connection: asyncpg.Connection) -> None:
    told = await channel_of(node, kind="webhook", url="http://127.0.0.1:9/")
    job = await create_delivery(node, msgspec.structs.replace(told, tenant_id=told.tenant_id + 1))
    await ended(connection, job)
    assert await attempts(connection, job) == [("failed", "the channel was deleted")]


async def test_a_broken_message_stops_nothing_else(node: Node, connection: asyncpg.Connection) -> None:
    async with target(respond()) as served:
        told = await channel_of(node, kind="webhook", url=served.url())
        empty = await create_delivery(node, msgspec.structs.replace(told, items=[]))
        good = await create_delivery(node, told)
        assert (await ended(connection, empty))["status"] == "failed"
        assert (await ended(connection, good))["status"] == "completed"


async def test_the_breaker_of_a_channel_that_fails_spares_its_attempts(
    node: Node, connection: asyncpg.Connection
) -> None:
    async with target(respond("500 Oops")) as served:
        told = await channel_of(node, kind="webhook", url=served.url())
        await create_delivery(node, told, max_attempts=10)
        await eventually(
            lambda: connection.fetchval("SELECT count(*) FROM tickwork.breaker WHERE state <> 'closed'"),
            within=SOON,
        )
        job = await create_delivery(node, told, max_attempts=10)
        await eventually(lambda: _outcomes(connection, job), within=SOON)
    ((outcome, said), *_) = await attempts(connection, job)
    assert outcome == "snoozed"
    assert said.startswith("circuit breaker open: channel ")
    tenant_id = (await node.keys.operator()).tenant_id
    assert await node.breakers.list(tenant_id) == []


async def test_no_job_of_a_user_delivers_a_message(node: Node) -> None:
    """Otherwise users could send through the channels of others."""
    caller = await node.keys.operator()
    with pytest.raises(Invalid, match=r"'tickwork\.notify' is the name of a built-in task"):
        await node.jobs.create(caller.tenant_id, [JobRequest(task="tickwork.notify", payload={})])
    assert caller.tenant == DEFAULT_TENANT


async def test_the_worker_for_notifications_is_not_in_the_lists_of_users(node: Node) -> None:
    tenant_id = (await node.keys.operator()).tenant_id

    async def names() -> list[str]:
        return [worker.name for worker in (await node.workers.list(tenant_id, 10)).items]

    await eventually(names, within=SOON)
    assert await names() == ["built-in"]
    assert await node.tasks.list(tenant_id) == []


async def _flood(node: Node, served: Target, count: int) -> None:
    tenant_id = (await node.keys.operator()).tenant_id
    jobs = [JobRequest(http=HttpTarget(url=served.url(f"/{number}"))) for number in range(count)]
    await node.jobs.create(tenant_id, jobs)
    await eventually(lambda: served.open_now >= 100, within=SOON)


async def test_a_flood_of_http_jobs_that_hang_does_not_delay_a_notification(
    node: Node, connection: asyncpg.Connection
) -> None:
    async with target(hang) as hanging, target(respond()) as served:
        await _flood(node, hanging, 1500)
        told = await channel_of(node, kind="webhook", url=served.url())
        end = await ended(connection, await create_delivery(node, told))
    assert end["status"] == "completed"


async def test_a_flood_of_notifications_that_hang_does_not_delay_an_http_job(
    node: Node, connection: asyncpg.Connection
) -> None:
    async with target(hang) as one, target(hang) as two, target(hang) as three, target(respond()) as served:
        for number, hanging in enumerate([one, two, three]):
            told = await channel_of(node, f"hanging{number}", kind="webhook", url=hanging.url())
            for _ in range(30):
                await create_delivery(node, told)
        await eventually(lambda: one.open_now + two.open_now + three.open_now >= 50, within=SOON)
        tenant_id = (await node.keys.operator()).tenant_id
        await node.jobs.create(tenant_id, [JobRequest(http=HttpTarget(url=served.url()))])
        await eventually(lambda: served.requests, within=SOON)
