"""A worker that reports nonsense cannot keep others' outcomes from being recorded."""

import pytest

from support.scripted import ScriptedWorker
from tickwork.app import Node
from tickwork.model.execution import AttemptOutcome, ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.model.protocol import Failure, Outcome, Outcomes

TENANT = 1


@pytest.mark.parametrize(
    ("kind", "details"),
    [
        (AttemptOutcome.SNOOZED, {"snooze": 1e300}),
        (AttemptOutcome.SNOOZED, {"snooze": -1.0}),
        (AttemptOutcome.FAILED, {"failure": Failure("E", "no", retry_after=float("nan"))}),
        (AttemptOutcome.COMPLETED, {"finished": 2**62}),
    ],
)
async def test_nonsense_ends_the_connection_and_nothing_else(
    still_node: Node, kind: AttemptOutcome, details: dict
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    figures = {"started": run.at, "finished": run.at} | details
    await worker._connection.send(
        Outcomes(1, [Outcome(run.tenant, run.at, run.job, run.attempt, kind, **figures)])
    )
    await worker._attended
    assert not await still_node.step("record")


async def test_a_reason_with_a_null_character_is_recorded_without_it(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.report(run, AttemptOutcome.CANCELLED, reason="no\0thing")
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (execution.status, execution.reason) == ("cancelled", "nothing")
