"""How a fan-out ends: with its elements, cancelled with them, or given up; what its queue says, and what it counts."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from support.node_steps import later, run_due
from support.sent_statements import watch_statements
from support.waiting import eventually
from tickwork.config import Settings
from tickwork.model.errors import Conflict
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionView
from tickwork.model.for_each import ForEach
from tickwork.model.job import Dependency, JobRequest
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.model.queue import QueueSettings
from tickwork.model.worker_protocol import Run, Runs
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
WITH_FAN_OUT = "fan-out j2 was cancelled"


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"], credit=20_000)


def step(ref: str, *parents: str | Dependency, **fields: Any) -> JobRequest:
    return JobRequest(task="work", ref=ref, depends_on=list(parents), **fields)


def for_each(ref: str = "list") -> Dependency:
    return Dependency(f"@{ref}", for_each=ForEach())


async def create(node: Node, *steps: JobRequest) -> list[int]:
    return [parse_job_id(job.id) for job in await node.jobs.create_many(TENANT, list(steps))]


async def list_ends(node: Node, worker: ScriptedWorker, elements: int) -> None:
    """The first job runs and returns a list of so many."""
    await run_due(node)
    (run,) = await worker.runs()
    await worker.complete(run, msgspec.json.encode([*range(elements)]))


async def handed_out(node: Node, worker: ScriptedWorker) -> list[Run]:
    while await node.step("fan out"):
        pass
    await run_due(node)
    return sorted(await worker.runs(), key=lambda run: run.job)


async def the_execution(node: Node, job: int) -> ExecutionView:
    (execution,) = (await node.history.list(TENANT, ExecutionFilter(job=job), 10)).items
    return execution


async def ends_of(connection: asyncpg.Connection, fan_out: int) -> list[tuple[str, str | None]]:
    """How the elements stand, in their order."""
    rows = await connection.fetch(
        """SELECT e.status::text, e.reason FROM tickwork.job x
           JOIN tickwork.execution e ON e.job_id = x.id WHERE x.element_of = $1 ORDER BY x.element_number""",
        fan_out,
    )
    return [tuple(row) for row in rows]


# Cancelled


async def cancel_execution(node: Node, fan_out: int) -> None:
    await node.history.cancel(TENANT, *parse_execution_id((await the_execution(node, fan_out)).id))


async def cancel_job(node: Node, fan_out: int) -> None:
    await node.jobs.cancel(TENANT, fan_out)


@pytest.mark.parametrize("cancel", [cancel_execution, cancel_job])
async def test_cancelling_a_fan_out_cancels_its_elements_and_says_so(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection, cancel: Any
) -> None:
    _, fan_out, _ = await create(still_node, step("list"), step("each", for_each()), step("join", "@each"))
    await list_ends(still_node, worker, 3)
    first, second, third = await handed_out(still_node, worker)
    await worker.complete(first)
    await cancel(still_node, fan_out)
    assert await still_node.step("fan out")
    assert await ends_of(connection, fan_out) == [
        ("completed", None), ("cancelled", WITH_FAN_OUT), ("cancelled", WITH_FAN_OUT),
    ]  # fmt: skip
    await still_node.step("revoke")
    revoked = [claim.job for revoke in await worker.revokes() for claim in revoke.items]
    assert sorted(revoked) == [second.job, third.job]
    assert not await still_node.step("fan out")
    told = await connection.fetch(
        "SELECT kind, job_id FROM tickwork.new_event WHERE kind LIKE 'execution.%' ORDER BY job_id"
    )
    assert [tuple(row) for row in told] == [
        ("execution.cancelled", fan_out), ("execution.blocked", 3),
        ("execution.cancelled", second.job), ("execution.cancelled", third.job),
    ]  # fmt: skip


async def test_many_elements_are_cancelled_some_at_a_time_whichever_node_dies(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection, settings: Settings
) -> None:
    other = Node(settings)
    await other.open()
    _, fan_out = await create(still_node, step("list"), step("each", for_each()))
    await list_ends(still_node, worker, 1_100)
    while await still_node.step("fan out"):
        pass
    await cancel_execution(still_node, fan_out)
    assert await still_node.step("fan out")
    assert await other.step("fan out")
    assert await other.step("fan out")
    assert not await other.step("fan out")
    assert {*await ends_of(connection, fan_out)} == {("cancelled", WITH_FAN_OUT)}
    assert await connection.fetchval("SELECT count(*) FROM tickwork.cancelled_fan_out") == 0
    await other.stop()


async def test_a_cancelled_fan_out_that_is_retried_goes_on_with_its_elements(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    _, fan_out = await create(still_node, step("list"), step("each", for_each()))
    await list_ends(still_node, worker, 3)
    first, *others = await handed_out(still_node, worker)
    await worker.complete(first, b"0")
    await cancel_execution(still_node, fan_out)
    await still_node.step("fan out")
    key = parse_execution_id((await the_execution(still_node, fan_out)).id)
    await still_node.step("revoke")
    with pytest.raises(Conflict, match="has not stopped yet"):
        await still_node.dead_letters.retry(TENANT, *key)
    await worker.report_together(others, AttemptOutcome.CANCELLED)
    await still_node.step("revoke")
    await still_node.dead_letters.retry(TENANT, *key)
    assert (await the_execution(still_node, fan_out)).waiting_for == "dependency"
    again = await handed_out(still_node, worker)
    assert [run.job for run in again] == [run.job for run in others]
    for run in again:
        await worker.complete(run, run.payload)
    await still_node.step("fan out")
    execution = await the_execution(still_node, fan_out)
    assert (execution.status, bytes(execution.result)) == ("completed", b'[0,{"item":1},{"item":2}]')


async def test_a_fan_out_that_is_retried_before_its_elements_were_cancelled_keeps_them(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    _, fan_out = await create(still_node, step("list"), step("each", for_each()))
    await list_ends(still_node, worker, 2)
    runs = await handed_out(still_node, worker)
    await cancel_execution(still_node, fan_out)
    key = parse_execution_id((await the_execution(still_node, fan_out)).id)
    await still_node.dead_letters.retry(TENANT, *key)
    assert not await still_node.step("fan out")
    for run in runs:
        await worker.complete(run)
    await still_node.step("fan out")
    assert (await the_execution(still_node, fan_out)).status == "completed"


# Given up


async def test_a_fan_out_has_started_once_it_became_jobs(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    _, fan_out = await create(still_node, step("list"), step("each", for_each(), start_within="30s"))
    await list_ends(still_node, worker, 1)
    (run,) = await handed_out(still_node, worker)
    await later(clock, worker, timedelta(seconds=40))
    await still_node.step("give up unstarted")
    assert (await the_execution(still_node, fan_out)).status == "pending"
    await worker.complete(run)
    await still_node.step("fan out")
    assert (await the_execution(still_node, fan_out)).status == "completed"


async def test_a_fan_out_whose_queue_stays_full_is_given_up_in_time(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "small", QueueSettings(max_backlog=1))
    await still_node.queues.pause(TENANT, "small")
    _, fan_out, _ = await create(
        still_node,
        step("list"),
        step("each", for_each(), queue="small", start_within="30s"),
        step("x", queue="small"),
    )
    await list_ends(still_node, worker, 1)
    assert await handed_out(still_node, worker) == []
    await later(clock, worker, timedelta(seconds=40))
    await still_node.step("give up unstarted")
    execution = await the_execution(still_node, fan_out)
    assert (execution.status, execution.reason) == ("skipped", "not started within 30 s of its due time")


# Its queue


async def test_a_fan_out_says_that_its_queue_is_full(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "small", QueueSettings(max_backlog=3))
    await still_node.queues.pause(TENANT, "small")
    await create(still_node, *[step(f"x{number}", queue="small") for number in range(2)])
    _, fan_out = await create(still_node, step("list"), step("each", for_each(), queue="small"))
    await list_ends(still_node, worker, 2)
    assert await handed_out(still_node, worker) == []
    execution = await the_execution(still_node, fan_out)
    full = "queue small may hold 3 executions that wait; 2 do, and 2 more do not fit"
    assert (execution.waiting_for, execution.reason) == ("limit", f"waits for its queue: {full}")
    why = await still_node.reasons.of(TENANT, *parse_execution_id(execution.id))
    assert [(cause.kind, cause.name) for cause in why.causes] == [("limit", "small")]
    assert why.summary == f"Waits for its queue: {full}."
    await still_node.queues.set(TENANT, "small", QueueSettings(max_backlog=4))
    assert await handed_out(still_node, worker) == []  # it asks only now and then
    await later(clock, worker, timedelta(seconds=6))
    await still_node.step("fan out")
    execution = await the_execution(still_node, fan_out)
    assert (execution.waiting_for, execution.reason) == ("dependency", None)


async def test_a_fan_out_that_fills_its_queue_fits(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.queues.set(TENANT, "small", QueueSettings(max_backlog=2))
    await create(still_node, step("list"), step("each", for_each(), queue="small"))
    await list_ends(still_node, worker, 2)
    assert len(await handed_out(still_node, worker)) == 2


async def test_a_fan_out_that_never_fits_into_its_queue_fails_with_the_reason(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "small", QueueSettings(max_backlog=2))
    _, fan_out = await create(still_node, step("list"), step("each", for_each(), queue="small"))
    await list_ends(still_node, worker, 3)
    await still_node.step("fan out")
    execution = await the_execution(still_node, fan_out)
    full = "queue small may hold 2 executions that wait; 0 do, and 3 more do not fit"
    assert execution.status == "failed"
    assert execution.reason == f"its elements never fit into its queue: {full}"


# What it costs, and what it counts


async def test_a_node_without_fan_outs_asks_once_in_a_while_whether_there_are_any(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await create(still_node, step("a"))
    await run_due(still_node)
    await worker.complete((await worker.runs())[0])
    statements = watch_statements(still_node)
    assert not await still_node.step("fan out")
    assert [text.split("*/")[0].strip("/* ") for text in statements] == ["fan_outs_are_used"]


async def test_a_fan_out_is_woken_by_the_end_of_its_list_and_of_its_elements(node: Node) -> None:
    """With intervals in which nothing would happen for hours."""
    worker = await ScriptedWorker.connect(node, ["work"], credit=100)
    node._loops._loops["fan out"]._every = 3600.0
    for _ in range(2):
        jobs = await create(node, step("list"), step("each", for_each()), step("join", "@each"))
        (first,) = await next_runs(worker, 1)
        await worker.tell(first, AttemptOutcome.COMPLETED, result=b"[1, 2]")
        for run in await next_runs(worker, 2):
            await worker.tell(run, AttemptOutcome.COMPLETED)
        (last,) = await next_runs(worker, 1)
        assert last.job == jobs[2]
        await worker.complete_live(last)


async def next_runs(worker: ScriptedWorker, number: int) -> list[Run]:
    runs: list[Run] = []
    async with asyncio.timeout(60):
        while len(runs) < number:
            runs += (await worker.next_of(Runs)).items
    return runs


_COUNTED = """
SELECT sum(fired)::int AS fired, sum(started)::int AS started, sum(completed)::int AS completed
FROM tickwork.statistic WHERE span = 'minute' AND at < tickwork.clock() - interval '2 minutes'"""
_HISTORY = """
SELECT count(*)::int AS fired, count(started_at)::int AS started,
    (count(*) FILTER (WHERE status = 'completed'))::int AS completed
FROM tickwork.execution WHERE scheduled_for < tickwork.clock() - interval '2 minutes'"""


@pytest.mark.parametrize("lasts", [timedelta(seconds=20), timedelta(minutes=5)])
@pytest.mark.parametrize("recounted", [False, True])
@pytest.mark.parametrize("schedule", [None, "every 1h"])
async def test_the_totals_of_closed_minutes_equal_the_history(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    connection: asyncpg.Connection,
    lasts: timedelta,
    recounted: bool,
    schedule: str | None,
) -> None:
    await still_node.step("keep up statistics")
    await create(still_node, step("list", schedule=schedule), step("each", for_each()), step("join", "@each"))
    if schedule:
        await later(clock, worker, timedelta(hours=1))
    await list_ends(still_node, worker, 3)
    runs = await handed_out(still_node, worker)
    await later(clock, worker, lasts)
    for run in runs:
        await worker.complete(run)
    for run in await handed_out(still_node, worker):
        await worker.complete(run)
    if recounted:
        await connection.execute(
            """INSERT INTO tickwork.statistic_recount (at) SELECT DISTINCT date_trunc('minute', at)
               FROM tickwork.execution CROSS JOIN LATERAL (VALUES (started_at), (finished_at)) AS times (at)"""
        )
    for _ in range(8):
        await still_node.step("write statistics")
        await clock.advance(timedelta(minutes=1))
    while await still_node.step("number events"):
        pass
    while await still_node.step("keep up statistics"):
        pass
    history = await connection.fetchrow(_HISTORY)
    assert history["completed"] == 6
    assert await connection.fetchrow(_COUNTED) == history


async def test_the_end_is_not_lost_when_the_node_that_recorded_it_dies(
    still_node: Node, worker: ScriptedWorker, settings: Settings
) -> None:
    _, fan_out = await create(still_node, step("list"), step("each", for_each()))
    await list_ends(still_node, worker, 1)
    (run,) = await handed_out(still_node, worker)
    await worker.complete(run)
    other = Node(settings)
    await other.start()
    try:
        await eventually(lambda: is_completed(other, fan_out), within=60)
    finally:
        await other.stop()


async def is_completed(node: Node, job: int) -> bool:
    return (await the_execution(node, job)).status == "completed"
