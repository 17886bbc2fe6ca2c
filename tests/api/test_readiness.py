"""A loop that fails again and again or is stuck is shown, and so is that it works again."""

import asyncio

import asyncpg
import httpx2
import pytest

from support.waiting import eventually
from tickwork.node import Node


async def test_a_loop_that_fails_again_and_again_makes_the_node_not_ready(
    live_client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    async def is_ready() -> bool:
        return (await live_client.get("/readyz")).status_code == 200

    async def is_not_ready() -> bool:
        return not await is_ready()

    assert await is_ready()
    await connection.execute("ALTER TABLE tickwork.breaker RENAME TO breaker_gone")
    await eventually(is_not_ready, within=60)
    told = (await live_client.get("/readyz")).json()["detail"]
    assert told.startswith("not ready: loop update breakers failed ")
    assert told.endswith(" times in a row, last with UndefinedTableError (42P01)")
    figures = (await live_client.get("/metrics")).text
    assert 'tickwork_loop_failures_in_a_row{loop="update breakers"} 0.0' not in figures
    assert 'tickwork_loop_failures_in_a_row{loop="claim"} 0.0' in figures
    assert 'tickwork_loop_success_age_seconds{loop="update breakers"}' in figures
    await connection.execute("ALTER TABLE tickwork.breaker_gone RENAME TO breaker")
    await eventually(is_ready, within=60)
    assert (await live_client.get("/readyz")).json() == {"ready": True, "checks": {"database": True}}


async def test_a_loop_that_is_stuck_in_a_step_makes_the_node_not_ready(
    node: Node, live_client: httpx2.AsyncClient, connection: asyncpg.Connection
) -> None:
    node._loops._loops["update breakers"].condition._stuck_after = 0.1

    async def told() -> str:
        return (await live_client.get("/readyz")).text

    async def names_the_loop() -> bool:
        return "loop update breakers has been in one step for " in await told()

    async def is_ready() -> bool:
        return '"ready":true' in await told()

    async with connection.transaction():
        await connection.execute("LOCK TABLE tickwork.breaker")
        await eventually(names_the_loop, within=30)
    await eventually(is_ready, within=30)


async def test_metrics_are_given_while_a_table_is_locked(
    live_client: httpx2.AsyncClient, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.node_metrics._MOST_TIME", 0.1)
    async with connection.transaction():
        await connection.execute("LOCK TABLE tickwork.rule")
        async with asyncio.timeout(5):
            assert "tickwork_loop_step_age_seconds" in (await live_client.get("/metrics")).text
