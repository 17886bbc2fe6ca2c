"""A migration that older servers cannot work with is not applied while one of them is running."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.later_migrations import LaterMigrations
from support.waiting import eventually
from tickwork.model.errors import WrongSchema
from tickwork.store import migrate
from tickwork.store.migration_file import migrations
from tickwork.store.older_nodes import OlderNodes

_DROPS = "DROP TABLE IF EXISTS color"
_NODE = """
    INSERT INTO tickwork.node
        (id, host, pid, version, schema_version, seen_at, clock_skew, database_latency, problems)
    VALUES ($1, 'box', 100, '1.2.0', $2, now() - $3::interval, 0, 0, '{}')"""
_REPORTS = "UPDATE tickwork.node SET seen_at = clock_timestamp() WHERE id = $1"
_LATEST = migrations()[-1].number


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> LaterMigrations:
    monkeypatch.setattr(migrate, "_LOOK_INTERVAL", 0.02)
    return LaterMigrations(monkeypatch)


async def add_node(connection: asyncpg.Connection, name: str, knows: int, seconds_ago: float = 1) -> None:
    await connection.execute(_NODE, name, knows, timedelta(seconds=seconds_ago))


async def report_until(done: "asyncio.Task[list[str]]", connection: asyncpg.Connection, name: str) -> None:
    async def report() -> bool:
        await connection.execute(_REPORTS, name)
        return done.done()

    await eventually(report, within=30, what="the end of the upgrade")


async def test_is_refused_with_the_names_of_the_nodes_and_the_fix(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_add_hue="CREATE TABLE tickwork.hue ()", _0003_drop_color__needs_0002=_DROPS)
    await add_node(connection, "old", _LATEST)
    await add_node(connection, "new", 3)
    upgrading = asyncio.create_task(migrate.upgrade(database_url))
    await report_until(upgrading, connection, "old")
    with pytest.raises(
        WrongSchema,
        match=r"cannot work with 0003_drop_color\.needs_0002\.sql: box:100 \(version 1\.2\.0\).*"
        r"stop or upgrade them first.*tickwork db upgrade --allow-older-nodes",
    ):
        await upgrading
    assert (await migrate.status(database_url)).pending == names  # also what it could have worked with


async def test_goes_on_all_the_same_if_that_is_allowed(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_drop_color__needs_0002=_DROPS)
    await add_node(connection, "old", _LATEST)
    assert await migrate.upgrade(database_url, allow_older_nodes=True) == names


@pytest.mark.parametrize("name", ["_0002_add_hue", "_0002_drop_color__needs_0001"])
async def test_goes_on_if_the_nodes_can_work_with_it(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, name: str
) -> None:
    names = later(**{name: _DROPS})
    await add_node(connection, "old", _LATEST, seconds_ago=0)
    assert await migrate.upgrade(database_url) == names


async def test_a_node_that_was_killed_long_ago_is_in_nobodys_way(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    names = later(_0002_drop_color__needs_0002=_DROPS)
    await add_node(connection, "old", _LATEST, seconds_ago=20)
    assert await migrate.upgrade(database_url) == names


async def test_waits_until_a_node_that_was_killed_just_now_is_known_to_be_gone(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations
) -> None:
    """Otherwise nobody could upgrade soon after a crash."""
    names = later(_0002_drop_color__needs_0002=_DROPS)
    await add_node(connection, "old", _LATEST, seconds_ago=14)
    assert await migrate.upgrade(database_url) == names


async def test_waits_for_a_node_that_is_stopping(
    database_url: str, connection: asyncpg.Connection, later: LaterMigrations, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = later(_0002_drop_color__needs_0002=_DROPS)
    await add_node(connection, "old", _LATEST)
    looked, check = asyncio.Semaphore(0), OlderNodes.check

    async def check_and_tell(self: OlderNodes, *arguments: Any) -> None:
        looked.release()
        await check(self, *arguments)

    monkeypatch.setattr(OlderNodes, "check", check_and_tell)
    upgrading = asyncio.create_task(migrate.upgrade(database_url))
    await looked.acquire()
    await looked.acquire()
    await connection.execute("DELETE FROM tickwork.node")
    assert await upgrading == names
