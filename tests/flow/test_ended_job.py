"""Recurring jobs that have ended, and rules that no job has, are forgotten with their history, and not before."""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from support.waiting import eventually
from tickwork.model.errors import NotFound
from tickwork.model.job import Dependency, JobRequest
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.node import Node
from tickwork.store import ended_jobs_and_unused_rules
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
HISTORY = timedelta(days=30)
MONTH_AND_MORE = HISTORY + timedelta(days=2)
_TABLES_OF_JOB = ("job", "past_rule", "heartbeat", "job_version", "job_retention", "retention_mark")


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"])


async def make(node: Node, **fields: Any) -> int:
    (made,) = await node.jobs.create(TENANT, [JobRequest(task="work", **fields)])
    return parse_job_id(made.id)


async def pass_time(node: Node, clock: SettableClock, worker: ScriptedWorker, by: timedelta) -> None:
    await later(clock, worker, by)
    await run_due(node)
    await worker.report_all(await worker.runs())
    while await node.step("maintain partitions"):
        pass
    for _ in range(2):  # a parent goes after its child
        while await node.step("delete ended jobs"):
            pass


async def is_known(node: Node, job: int) -> bool:
    try:
        await node.jobs.get(TENANT, job)
    except NotFound:
        return False
    return True


async def is_anybody_waiting(connection: asyncpg.Connection) -> bool:
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    waiting: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database())"
    )
    return waiting


async def rules(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval("SELECT count(*) FROM tickwork.rule")
    return count


async def test_a_cancelled_one_goes_with_its_history_and_its_rule(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 1h", heartbeat_url="https://example.com/beat")
    await pass_time(still_node, clock, worker, timedelta(hours=1))
    await still_node.jobs.patch(TENANT, job, {"schedule": "every 2h", "payload": {"n": 2}})
    await still_node.jobs.cancel(TENANT, job)
    await pass_time(still_node, clock, worker, HISTORY - timedelta(days=1))
    assert (await still_node.jobs.get(TENANT, job)).status == "cancelled"
    await pass_time(still_node, clock, worker, timedelta(days=3))
    await pass_time(still_node, clock, worker, timedelta(days=1))
    assert not await is_known(still_node, job)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)  # its rules went on once, for nobody
    assert await rules(connection) == 0
    for table in _TABLES_OF_JOB:
        assert await connection.fetchval(f"SELECT count(*) FROM tickwork.{table}") == 0, table  # noqa: S608


@pytest.mark.parametrize(
    "schedule", [{"every": "1h", "max_runs": 2}, {"every": "1h", "end": "2h"}], ids=["runs", "end"]
)
async def test_one_that_had_its_last_run_goes(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    schedule: dict[str, Any],
) -> None:
    if "end" in schedule:
        now = await connection.fetchval("SELECT tickwork.clock()")
        schedule = schedule | {"end": (now + timedelta(hours=2)).isoformat()}
    job = await make(still_node, schedule=schedule)
    for _ in range(3):
        await pass_time(still_node, clock, worker, timedelta(hours=1))
    assert (await still_node.jobs.get(TENANT, job)).status == "completed"
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    await pass_time(still_node, clock, worker, timedelta(days=1))
    assert not await is_known(still_node, job)


async def test_all_go_however_few_are_looked_at_together(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ended_jobs_and_unused_rules, "_JOBS_TOGETHER", 2)
    priorities = ("high", "low", "normal", "high", "low")
    jobs = [
        await make(still_node, schedule={"every": every, "max_runs": 1}, priority=priority)
        for every in ("1h", "90m", "2h")
        for priority in priorities
    ]
    assert await rules(connection) == 3
    parents = {jobs[1], jobs[8]}
    for parent in parents:
        await make(still_node, depends_on=[Dependency(job_id(parent))])
    await pass_time(still_node, clock, worker, timedelta(hours=3))
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    await pass_time(still_node, clock, worker, timedelta(days=1))
    assert {job for job in jobs if await is_known(still_node, job)} == parents


@pytest.mark.parametrize("pause", [True, False])
async def test_one_that_is_paused_or_goes_on_stays(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    pause: bool,
) -> None:
    job = await make(still_node, schedule="every 1d")
    if pause:
        await still_node.jobs.pause(TENANT, job)
    for _ in range(3):
        await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert await is_known(still_node, job)
    assert await rules(connection) == 1
    if pause:
        await still_node.jobs.resume(TENANT, job)
        assert (await still_node.jobs.get(TENANT, job)).next_run_at


async def test_one_of_a_rule_that_others_have_goes_alone(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    gone, stays = [await make(still_node, schedule="every 1d") for _ in range(2)]
    await pass_time(still_node, clock, worker, timedelta(days=1))
    await still_node.jobs.cancel(TENANT, gone)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert [await is_known(still_node, job) for job in (gone, stays)] == [False, True]
    assert await rules(connection) == 1


async def test_a_parent_goes_after_its_child(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    parent = await make(still_node, schedule="every 1d")
    child = await make(still_node, depends_on=[Dependency(job_id(parent))])
    await still_node.jobs.cancel(TENANT, parent)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert await is_known(still_node, parent)
    await still_node.jobs.cancel(TENANT, child)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert [await is_known(still_node, job) for job in (parent, child)] == [False, False]


async def test_one_that_was_run_by_hand_stays_for_as_long_as_that_is_told(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    job = await make(still_node, schedule={"every": "1h", "max_runs": 1})
    await pass_time(still_node, clock, worker, timedelta(hours=1))
    await pass_time(still_node, clock, worker, HISTORY - timedelta(days=3))
    await still_node.runs.run(TENANT, job)
    await pass_time(still_node, clock, worker, timedelta(days=6))
    assert await is_known(still_node, job)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert not await is_known(still_node, job)


async def test_an_edited_job_forgets_its_past_rules_with_their_rounds(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node, schedule="every 1h")
    for hours in (2, 3, 4):
        await pass_time(still_node, clock, worker, timedelta(hours=4))
        await still_node.jobs.patch(TENANT, job, {"schedule": f"every {hours}h"})
    assert await connection.fetchval("SELECT count(*) FROM tickwork.past_rule") == 3
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    await pass_time(still_node, clock, worker, timedelta(days=1))
    assert await connection.fetchval("SELECT count(*) FROM tickwork.past_rule") == 0
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)  # one of them went on once, for nobody
    assert await rules(connection) == 1


async def test_a_rule_that_goes_while_a_job_joins_it_is_made_again(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.cancel(TENANT, await make(still_node, schedule="every 1h"))
    async with connection.transaction():
        await connection.execute("DELETE FROM tickwork.rule")
        joined = asyncio.create_task(make(still_node, schedule="every 1h"))
        await eventually(partial(is_anybody_waiting, connection), within=30)
    assert (await still_node.jobs.get(TENANT, await joined)).next_run_at
    assert await rules(connection) == 1
