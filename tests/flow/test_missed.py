"""After an outage: exactly what each policy says, the rest accounted for, and the schedule goes on."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
PERIODS = 10_000
OUTAGE = timedelta(minutes=PERIODS)


@pytest.fixture
async def clock(database_url: str) -> SettableClock:
    clock = SettableClock(database_url)
    await clock.set(datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - OUTAGE)
    return clock


@pytest.mark.parametrize(
    ("catch_up", "runs"),
    [
        (CatchUp("skip"), 0),
        (CatchUp("latest"), 1),
        (CatchUp("latest", within="30s"), 1),
        (CatchUp("all"), 60),
        (CatchUp("all", within="30d"), 100),
        (CatchUp("all", within="30d", max=250), 250),
    ],
    ids=lambda value: (
        f"{value.policy}-{value.within}-{value.max}" if isinstance(value, CatchUp) else str(value)
    ),
)
async def test_an_outage_of_many_periods(
    still_node: Node, clock: SettableClock, connection: asyncpg.Connection, catch_up: CatchUp, runs: int
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(
        TENANT, [JobRequest(task="work", schedule="every 1m", catch_up=catch_up, overlap="allow")]
    )
    await later(clock, worker, OUTAGE + timedelta(seconds=15))
    await still_node.step("maintain partitions")
    await run_due(still_node)
    late = await connection.fetchval("SELECT count(*) FROM tickwork.execution")
    missed = await connection.fetchval("SELECT coalesce(sum(missed), 0) FROM tickwork.round")
    assert (late, late + missed) == (runs, PERIODS)
    assert sum(each.count for each in await still_node.history.missed(TENANT, 1, 100)) == missed

    for pause in (45, 60, 60):
        await later(clock, worker, timedelta(seconds=pause))
        await run_due(still_node)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == runs + 3
