"""A job is edited while its rule is being fired in chunks."""

from datetime import timedelta

import pytest

from support.node_steps import later, run_due
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker
from tickwork.trigger import fire

TENANT = 1


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(milliseconds=100)])
@pytest.mark.parametrize("place", [1, 2])
async def test_a_job_that_becomes_urgent_half_way_gets_its_execution_once(
    still_node: Node,
    clock: SettableClock,
    worker: ScriptedWorker,
    monkeypatch: pytest.MonkeyPatch,
    ahead: timedelta,
    place: int,
) -> None:
    """Whether it had its turn before it moved to the front, or not."""
    monkeypatch.setattr(fire, "_CHUNK", 2)
    monkeypatch.setattr(fire, "_MIN_PER_RULE", 1)
    made = await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")] * 3)
    jobs = [parse_job_id(job.id) for job in made]
    await later(clock, worker, timedelta(minutes=1) - ahead)
    await still_node.step("fire")  # the first two of them
    await still_node.jobs.patch(TENANT, jobs[place], {"priority": "high"})
    await run_due(still_node)
    await worker.report_all(runs := await worker.runs())
    assert {run.job for run in runs} == {*jobs}
    assert len({run.at for run in runs}) == 1
