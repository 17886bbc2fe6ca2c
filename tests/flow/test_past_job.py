"""Jobs that were due one time are forgotten with their history, and not before."""

import asyncio
from datetime import timedelta

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.errors import NotFound
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.node import Node
from tickwork.store import partitions_and_retention as past_job
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
HISTORY = timedelta(days=30)
MONTH_AND_MORE = HISTORY + timedelta(days=2)


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"])


async def make(node: Node, **fields: object) -> int:
    return parse_job_id((await node.jobs.create(TENANT, [JobRequest(task="work", **fields)]))[0].id)  # type: ignore[arg-type]


async def run_all(node: Node, worker: ScriptedWorker) -> None:
    await run_due(node)
    await worker.report_all(await worker.runs())


async def pass_time(node: Node, clock: SettableClock, worker: ScriptedWorker, by: timedelta) -> None:
    await later(clock, worker, by)
    await node.step("maintain partitions")
    await forget(node)


async def forget(node: Node) -> None:
    while await node.step("delete past jobs"):
        pass


async def is_known(node: Node, job: int) -> bool:
    try:
        await node.jobs.get(TENANT, job)
    except NotFound:
        return False
    return True


async def test_one_that_ran_goes_with_its_history_and_frees_its_key(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    job = await make(still_node, key="welcome")
    await run_all(still_node, worker)
    await pass_time(still_node, clock, worker, HISTORY - timedelta(days=2))
    assert (await still_node.jobs.get(TENANT, job)).status == "completed"
    await pass_time(still_node, clock, worker, timedelta(days=4))
    assert not await is_known(still_node, job)
    assert await make(still_node, key="welcome") != job


async def test_one_whose_history_is_gone_is_over_until_it_goes_too(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    job = await make(still_node)
    await run_all(still_node, worker)
    await later(clock, worker, MONTH_AND_MORE)
    await still_node.step("maintain partitions")
    told = await still_node.jobs.get(TENANT, job)
    assert (told.status, told.next_run_at) == ("completed", None)


@pytest.mark.parametrize("schedule", ["every 1d", "in 90d"])
async def test_what_has_times_to_come_stays(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, schedule: str
) -> None:
    job = await make(still_node, schedule=schedule)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    told = await still_node.jobs.get(TENANT, job)
    assert told.status == "active"
    assert told.next_run_at


async def test_one_that_waits_for_a_worker_stays(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    job = await make(still_node)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert await is_known(still_node, job)


async def test_one_that_was_paused_before_its_time_can_be_resumed_however_late(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    job = await make(still_node, schedule="in 1h")
    await still_node.jobs.pause(TENANT, job)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert (await still_node.jobs.get(TENANT, job)).status == "paused"
    await still_node.jobs.resume(TENANT, job)
    await run_all(still_node, worker)
    assert (await still_node.jobs.get(TENANT, job)).status == "completed"


async def test_one_whose_time_came_while_no_node_was_there_still_runs(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    job = await make(still_node, schedule="in 20d")
    await pass_time(still_node, clock, worker, timedelta(days=60))
    await still_node.step("create deferred")
    await run_all(still_node, worker)
    assert (await still_node.jobs.get(TENANT, job)).status == "completed"


async def test_one_that_was_run_again_stays_for_as_long_as_that_is_told(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    job = await make(still_node)
    await run_all(still_node, worker)
    await later(clock, worker, timedelta(days=10))
    await still_node.step("maintain partitions")
    await still_node.runs.run(TENANT, job)
    await run_all(still_node, worker)
    await pass_time(still_node, clock, worker, timedelta(days=25))
    assert await is_known(still_node, job)
    await pass_time(still_node, clock, worker, timedelta(days=10))
    assert not await is_known(still_node, job)


async def test_those_that_others_depend_on_go_after_them(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    first, second, third = (
        parse_job_id(job.id)
        for job in await still_node.jobs.create_many(
            TENANT,
            [
                JobRequest(task="work", ref="a"),
                JobRequest(task="work", ref="b", depends_on=["@a"]),
                JobRequest(task="work", depends_on=["@b"], schedule="in 40d"),
            ],
        )
    )
    for _ in range(2):
        await run_all(still_node, worker)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert [await is_known(still_node, job) for job in (first, second, third)] == [True] * 3
    await later(clock, worker, timedelta(days=8))
    await still_node.step("maintain partitions")
    await still_node.step("create deferred")
    await run_all(still_node, worker)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    for known in (True, True), (True, False), (False, False):
        assert [await is_known(still_node, job) for job in (first, second)] == [*known]
        await forget(still_node)
    assert not await is_known(still_node, third)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.dependency") == 0


async def test_however_many_there_are_and_however_many_stay_all_others_go(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_job, "_JOBS_TOGETHER", 2)
    staying = [await make(still_node) for _ in range(3)]
    for job in staying:
        await make(still_node, depends_on=[job_id(job)], schedule="in 90d")
    going = [await make(still_node) for _ in range(5)]
    await run_all(still_node, worker)
    await pass_time(still_node, clock, worker, MONTH_AND_MORE)
    assert [await is_known(still_node, job) for job in staying] == [True] * 3
    assert [await is_known(still_node, job) for job in going] == [False] * 5


async def test_one_that_somebody_is_running_is_left_alone(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    job = await make(still_node)
    await run_all(still_node, worker)
    await later(clock, worker, MONTH_AND_MORE)
    await still_node.step("maintain partitions")
    async with connection.transaction():
        await connection.execute("SELECT FROM tickwork.job FOR UPDATE")
        running = asyncio.create_task(still_node.runs.run(TENANT, job))
        assert await still_node.step("delete past jobs") is False
    await running
    assert await still_node.step("delete past jobs") is False
    assert await is_known(still_node, job)
