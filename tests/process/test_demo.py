"""`tickwork up --demo`: a history that a real node made, and a worker that goes on."""

from datetime import timedelta

import asyncpg
import msgspec
import pytest

from tickwork.config import Settings
from tickwork.demo.past_week import fill_past_week
from tickwork.model.errors import Conflict
from tickwork.model.job import JobRequest
from tickwork.model.notification_view import NotificationFilter
from tickwork.model.ping import PingFilter
from tickwork.node import Node

URL = "http://127.0.0.1:1"
STATUSES = """
SELECT count(*) AS fired, count(*) FILTER (WHERE status = 'completed') AS completed,
    count(*) FILTER (WHERE status = 'failed') AS failed, count(*) FILTER (WHERE status = 'skipped') AS skipped
FROM tickwork.execution WHERE tenant_id = 1 AND scheduled_for <= now() AND trigger <> 'manual'
"""


async def test_the_history_fits_its_statistics_and_the_clock_is_the_databases_own_again(
    settings: Settings, connection: asyncpg.Connection
) -> None:
    assert await fill_past_week(settings, URL, timedelta(hours=5))
    node = Node(settings)
    await node.open()
    try:
        overview = await node.overview.view(1)
        truth = await connection.fetchrow(STATUSES)
        counts = overview.last_24_hours
        assert truth["fired"] > 60
        assert abs(counts.fired - truth["fired"]) <= 3  # the manual runs at the end
        assert (counts.completed, counts.failed, counts.skipped) == tuple(truth)[1:]
        assert overview.backlog.waiting >= 1
        assert len({queue.name for queue in (await node.queues.list(1, 100)).items}) >= 8
        channels = (await node.channels.list(1, 100)).items
        assert {channel.kind for channel in channels} >= {"slack", "pagerduty", "webhook"}
        assert all(channel.kind == "webhook" or "127.0.0.1" in (channel.url or "") for channel in channels)
        told = (await node.notifications.log.list(1, NotificationFilter(), 100, None)).items
        assert {"sent"} <= {notification.status for notification in told}
        assert len((await node.pings.list(1, PingFilter(), 100, None)).items) == 3
    finally:
        await node.stop()
    assert abs(await connection.fetchval("SELECT tickwork.clock() - now()")) < timedelta(minutes=1)
    assert await connection.fetchval("SELECT to_regclass('tickwork.settable_clock')") is None
    late = (
        "SELECT count(*) FROM tickwork.execution WHERE started_at < scheduled_for OR finished_at < started_at"
    )
    assert await connection.fetchval(late) == 0
    assert not await fill_past_week(settings, URL)


async def test_a_database_with_other_jobs_is_refused(settings: Settings) -> None:
    node = Node(settings)
    await node.open()
    job = {"http": {"url": "https://example.com"}, "schedule": "every 1h"}
    await node.jobs.create_one(1, msgspec.convert(job, JobRequest))
    await node.stop()
    with pytest.raises(Conflict, match="needs a new database"):
        await fill_past_week(settings, URL)
