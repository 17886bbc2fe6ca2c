"""Pings say themselves who is told of them, and rules of the tenant apply to them, too."""

from datetime import timedelta

import asyncpg
import msgspec
import pytest

from support.told_channel import TENANT, ToldChannels, make_channel
from tickwork.model.notification_rule import NotificationRuleRequest
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

_MAKE = """
INSERT INTO tickwork.ping (tenant_id, name, definition, timing, grace, notify, digest, token_begins, status, log,
    told_late, told_slow, failures_in_a_row)
VALUES ($1, $2, '{}', '{}', '1m', $3, sha256($2::text::bytea), '', 'new', '', false, false, 0)
"""
_WRITE = "INSERT INTO tickwork.new_event (tenant_id, kind, detail) VALUES ($1, $2, $3)"


@pytest.fixture
async def told(clock: SettableClock, still_node: Node, worker: ScriptedWorker) -> ToldChannels:
    return await ToldChannels.of(still_node, clock, worker)


async def make_ping(connection: asyncpg.Connection, name: str, *entries: dict[str, list[str]]) -> None:
    await connection.execute(_MAKE, TENANT, name, msgspec.json.encode(entries).decode())


async def write(connection: asyncpg.Connection, kind: str, **detail: str) -> None:
    await connection.execute(_WRITE, TENANT, kind, msgspec.json.encode(detail).decode())


async def test_a_ping_that_stays_away_is_told_of_at_once_to_the_channels_that_it_names(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    await make_ping(connection, "backup", {"on": ["missing"], "to": ["ops"]})
    await make_ping(connection, "import")
    for name in ("backup", "import"):
        await write(connection, "ping.missing", ping=name)
    (item,) = await told.items(after=timedelta(0))
    assert (item.kind, item.severity, item.title) == ("ping.missing", "error", "backup stays away")
    assert item.detail == {"ping": "backup"}


async def test_rules_of_the_tenant_tell_of_pings_unless_the_ping_silences_them(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    rule = NotificationRuleRequest(on=["missing", "failed"], to=["ops"])
    await told.node.notifications.rules.set(TENANT, "all", rule)
    await make_ping(connection, "loud")
    await make_ping(connection, "silent", {"on": ["missing"], "to": []})
    for name in ("loud", "silent"):
        await write(connection, "ping.missing", ping=name)
        await write(connection, "ping.late", ping=name)
    assert [item.detail["ping"] for item in await told.items(after=timedelta(0))] == ["loud"]


async def test_a_ping_that_is_back_closes_its_incident(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection, kind="opsgenie")
    await make_ping(connection, "backup", {"on": ["missing", "failed"], "to": ["ops"]})
    messages = []
    for kind in ("ping.missing", "ping.failed", "ping.recovered"):
        await write(connection, kind, ping="backup")
        messages += await told.messages(after=timedelta(seconds=1))
    opened, closed = messages  # the failure is in the window of what was missing
    assert (opened.incident.action, closed.incident.action) == ("open", "close")
    assert opened.incident.key == closed.incident.key


async def test_a_server_that_fires_nothing_is_told_of(
    told: ToldChannels, connection: asyncpg.Connection
) -> None:
    await make_channel(connection)
    rule = NotificationRuleRequest(on=["node_silent"], to=["ops"])
    await told.node.notifications.rules.set(TENANT, "cluster", rule)
    await write(connection, "node.silent", node="n1", host="rack-7")
    assert [item.title for item in await told.items()] == ["The server on rack-7 fires nothing"]
