"""A job that is cancelled with what runs of it: nothing of it runs or waits after that, however it is raced."""

import asyncio
from datetime import timedelta

import asyncpg

from support.node_steps import later, run_due
from tickwork.model.execution import ExecutionFilter, ExecutionStatus
from tickwork.model.job import JobRequest, JobStatus, RetryRequest
from tickwork.model.public_ids import from_micros
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT, JOB = 1, 1
HOUR = timedelta(hours=1)


async def statuses(node: Node) -> set[ExecutionStatus]:
    page = await node.history.list(TENANT, ExecutionFilter(job=JOB), 500)
    return {each.status for each in page.items}


async def test_what_waits_is_cancelled_and_what_runs_is_told_to_stop(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h", overlap="allow")])
    await later(clock, worker, HOUR)
    await run_due(still_node)
    (run,) = await worker.runs()
    await still_node.runs.run(TENANT, JOB)
    job = await still_node.jobs.cancel(TENANT, JOB, running="cancel")
    assert job.status is JobStatus.CANCELLED
    assert await statuses(still_node) == {ExecutionStatus.CANCELLED}
    await still_node.step("revoke")
    (revoke,) = await worker.revokes()
    assert (revoke.items[0].job, revoke.items[0].at, revoke.reason) == (run.job, run.at, "job cancelled")
    await later(clock, worker, HOUR)
    await run_due(still_node)
    assert await worker.runs() == []


async def test_a_job_that_is_cancelled_already_can_still_be_stopped(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await run_due(still_node)
    (run,) = await worker.runs()
    await still_node.jobs.cancel(TENANT, JOB)
    assert await statuses(still_node) == {ExecutionStatus.RUNNING}
    for _ in range(2):
        await still_node.jobs.cancel(TENANT, JOB, running="cancel")
    execution = await still_node.history.get(TENANT, JOB, from_micros(run.at))
    assert (execution.status, execution.reason) == (ExecutionStatus.CANCELLED, "job cancelled")


async def test_nothing_is_left_when_claims_and_outcomes_come_at_the_same_moment(
    nodes: list[Node], connection: asyncpg.Connection
) -> None:
    workers = [await ScriptedWorker.connect(node, ["work"]) for node in nodes[:2]]
    await nodes[0].jobs.create(
        TENANT, [JobRequest(task="work", schedule="every 1h", retry=RetryRequest(max_attempts=5))]
    )
    for _ in range(40):
        await nodes[0].runs.run(TENANT, JOB)

    async def work(node: Node, worker: ScriptedWorker) -> None:
        for _ in range(5):
            await node.step("claim")
            runs = await worker.runs()
            if runs:
                await worker.report_all(runs[::2])

    cancel = nodes[2].jobs.cancel(TENANT, JOB, running="cancel")
    await asyncio.gather(*map(work, nodes[:2], workers), cancel)
    assert await statuses(nodes[0]) <= {ExecutionStatus.CANCELLED, ExecutionStatus.COMPLETED}
    unended = "SELECT count(*) FROM tickwork.execution WHERE finished_at IS NULL"
    assert await connection.fetchval(unended) == 0
