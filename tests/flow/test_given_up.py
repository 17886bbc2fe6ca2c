"""An attempt that its worker broke off, because it could not renew its lease, and told of when it came back in time."""

import pytest

from support.node_steps import run_due
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionView
from tickwork.model.job import JobRequest, OnWorkerLost, RetryRequest
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


async def given_up(node: Node, on_worker_lost: OnWorkerLost) -> ExecutionView:
    worker = await ScriptedWorker.connect(node, ["work"])
    once = JobRequest(task="work", on_worker_lost=on_worker_lost, retry=RetryRequest(max_attempts=1))
    await node.jobs.create(TENANT, [once])
    await run_due(node)
    (run,) = await worker.runs()
    await worker.report(run, AttemptOutcome.LOST)
    (execution,) = (await node.history.list(TENANT, ExecutionFilter(), 2)).items
    return execution


async def test_is_tried_again_and_is_no_failure_of_the_job(still_node: Node) -> None:
    assert (await given_up(still_node, "retry")).status == "pending"


async def test_is_never_tried_again_when_the_job_says_so(still_node: Node) -> None:
    execution = await given_up(still_node, "fail")
    assert (execution.status, execution.reason) == ("failed", "worker lost")


@pytest.mark.parametrize("on_worker_lost", ["retry", "fail"])
async def test_is_told_as_lost(still_node: Node, on_worker_lost: OnWorkerLost) -> None:
    execution = await given_up(still_node, on_worker_lost)
    (attempt, *_) = await still_node.history.attempts(TENANT, 1, execution.scheduled_for)
    assert attempt.outcome == AttemptOutcome.LOST
