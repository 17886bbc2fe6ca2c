"""A ping that stays away is told of within its grace plus two seconds, by real nodes that are killed, on real time."""

import random
from datetime import datetime, timedelta

import asyncpg
import pytest

from support.cluster import Cluster
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient
from tickwork.model.stream_event import StreamEvent

GRACE = timedelta(seconds=1)
WITHIN = 2.0  # seconds after the grace


async def missing(client: AsyncClient, name: str) -> list[StreamEvent]:
    page = await client.list_events(kind="ping.missing", limit=500)
    return [event for event in page.items if event.detail["ping"] == name]


def lateness(event: StreamEvent) -> float:
    """Seconds from the end of the grace until it was told."""
    return (event.at - datetime.fromisoformat(event.detail["due_at"]) - GRACE).total_seconds()


async def first_missing(client: AsyncClient, name: str) -> StreamEvent:
    found = await eventually(lambda: missing(client, name), within=40, what=f"the absence of {name}")
    return found[-1]


async def test_is_told_within_two_seconds_after_the_grace(processes: Cluster) -> None:
    await processes.start(servers=2, workers=0)
    async with processes.client() as client:
        await client.set_ping("backup", schedule="every 10s", grace=GRACE)
        event = await first_missing(client, "backup")
    assert 0 <= lateness(event) <= WITHIN


async def test_is_told_in_time_after_a_failover_of_nodes(
    processes: Cluster, connection: asyncpg.Connection
) -> None:
    """One node is killed shortly before it is due, another while it is told."""
    await processes.start(servers=3, workers=0)
    async with processes.client(2) as client:
        await client.set_ping("backup", schedule="every 10s", grace=GRACE)
        processes.servers[0].kill()
        due = "SELECT tickwork.clock() > expected_at FROM tickwork.ping"
        await eventually(lambda: connection.fetchval(due), within=30, what="its due time")
        processes.servers[1].kill()
        event = await first_missing(client, "backup")
        assert 0 <= lateness(event) <= WITHIN
        assert len(await missing(client, "backup")) == 1


async def test_what_was_due_while_all_nodes_were_down_is_told_at_once(
    processes: Cluster, connection: asyncpg.Connection
) -> None:
    await processes.start(servers=1, workers=0)
    async with processes.client() as client:
        await client.set_ping("backup", schedule="every 10s", grace=GRACE)
    processes.servers[0].kill()
    due = "SELECT tickwork.clock() > expected_at + grace + interval '2 seconds' FROM tickwork.ping"
    await eventually(lambda: connection.fetchval(due), within=30, what="the end of its grace")
    await processes.servers[0].start()
    up_at = await connection.fetchval("SELECT tickwork.clock()")
    async with processes.client() as client:
        event = await first_missing(client, "backup")
    assert (event.at - up_at).total_seconds() <= WITHIN


@pytest.mark.timeout(600)
async def test_each_due_time_is_told_once_while_nodes_are_killed_all_the_time(
    processes: Cluster, long: bool
) -> None:
    """Every ping has one due time in the range, so each must be told of exactly once."""
    count, kills = (200, 60) if long else (40, 6)
    await processes.start(servers=3, workers=0)
    random.seed(15)
    async with processes.client(2) as client:
        for number in range(count):
            await client.set_ping(f"ping-{number}", schedule="every 1h", grace=GRACE)
        connection = await asyncpg.connect(processes._database_url)
        spread = (
            "UPDATE tickwork.ping SET expected_at = at, check_at = at + grace "
            "FROM (SELECT id, clock_timestamp() + interval '3 seconds' + random() * $1::interval AS at "
            "FROM tickwork.ping) due WHERE due.id = ping.id"
        )
        await connection.execute(spread, timedelta(seconds=kills * 1.5))
        for _ in range(kills):
            victim = processes.servers[random.randrange(2)]  # noqa: S311 (spread, not secrecy)
            victim.kill()
            await victim.start()
        await eventually(lambda: _all_told(client, count), within=120, what="the absence of all")
        told = (await client.list_events(kind="ping.missing", limit=500)).items
        await connection.close()
    late = sorted(map(lateness, told))
    assert 0 <= late[0] <= late[-1] <= WITHIN
    assert sorted(event.detail["ping"] for event in told) == sorted(
        f"ping-{number}" for number in range(count)
    )


async def _all_told(client: AsyncClient, count: int) -> bool:
    return len((await client.list_events(kind="ping.missing", limit=500)).items) >= count
