"""What comes back from a worker while its job is paused waits until the job is resumed."""

from datetime import UTC, datetime, timedelta

import pytest

from support.node_steps import later, run_due
from tickwork.model.execution import AttemptOutcome, ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


@pytest.mark.parametrize("outcome", [AttemptOutcome.RETURNED, AttemptOutcome.FAILED])
async def test_it_is_tried_again_only_after_the_resumption(
    still_node: Node, database_url: str, outcome: AttemptOutcome
) -> None:
    clock = SettableClock(database_url)
    await clock.set(datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0))
    worker = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1h")])
    await later(clock, worker, timedelta(hours=1))
    await run_due(still_node)
    (run,) = await worker.runs()

    await still_node.jobs.pause(TENANT, 1)
    details = {"failure": Failure("Oops", "again")} if outcome == AttemptOutcome.FAILED else {}
    await worker.report(run, outcome, **details)
    await later(clock, worker, timedelta(minutes=10))
    await run_due(still_node)
    assert await worker.runs() == []
    (waiting,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    assert (waiting.status, waiting.waiting_for) == ("pending", "paused")

    await still_node.jobs.resume(TENANT, 1)
    await run_due(still_node)
    (again,) = await worker.runs()
    assert (again.at, again.attempt) == (run.at, 2)
