"""Since when an attempt ran is known, however it ends: also of those that never say how they ended."""

from datetime import timedelta

import pytest

from support.node_steps import run_due
from tickwork.model.execution import AttemptOutcome, AttemptView, ExecutionView
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import from_micros
from tickwork.model.worker_protocol import Outcome, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
BEGUN = 250  # microseconds after it was due


@pytest.fixture
async def run(still_node: Node, worker: ScriptedWorker) -> Run:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await run_due(still_node)
    (run,) = await worker.runs()
    return run


def began(run: Run) -> int:
    return run.at + BEGUN


async def execution(node: Node, run: Run) -> ExecutionView:
    return await node.history.get(TENANT, run.job, from_micros(run.at))


async def attempts(node: Node, run: Run) -> list[AttemptView]:
    return await node.history.attempts(TENANT, run.job, from_micros(run.at))


async def test_progress_tells_it_at_once(still_node: Node, worker: ScriptedWorker, run: Run) -> None:
    await worker.log(run, fraction=0.6, started=began(run))
    found = await execution(still_node, run)
    assert found.progress
    assert found.started_at == from_micros(began(run))


async def test_what_was_said_before_stays(still_node: Node, worker: ScriptedWorker, run: Run) -> None:
    await worker.log(run, fraction=0.1, started=began(run))
    await worker.log(run, fraction=0.2, started=began(run) + 1)
    await worker.log(run, fraction=0.3)
    assert (await execution(still_node, run)).started_at == from_micros(began(run))


@pytest.mark.parametrize("nonsense", [-1, 2**60])
async def test_a_time_that_does_not_exist_is_passed_over(
    still_node: Node, worker: ScriptedWorker, run: Run, nonsense: int
) -> None:
    await worker.log(run, fraction=0.6, started=nonsense)
    assert (await execution(still_node, run)).started_at is None


async def test_of_a_cancelled_one_the_worker_tells_it_afterwards(
    still_node: Node, worker: ScriptedWorker, run: Run
) -> None:
    await still_node.history.cancel(TENANT, run.job, from_micros(run.at))
    await worker.report(run, AttemptOutcome.CANCELLED)
    found = await execution(still_node, run)
    assert (found.status, found.started_at) == ("cancelled", from_micros(run.at))
    (attempt,) = await attempts(still_node, run)
    assert (attempt.outcome, attempt.started_at) == (AttemptOutcome.CANCELLED, from_micros(run.at))


async def test_a_cancelled_one_that_never_began_has_none(
    still_node: Node, worker: ScriptedWorker, run: Run
) -> None:
    await still_node.history.cancel(TENANT, run.job, from_micros(run.at))
    at_once = run.at, run.at
    await worker._report(
        [Outcome(run.tenant, run.at, run.job, run.attempt, AttemptOutcome.CANCELLED, *at_once)]
    )
    assert (await execution(still_node, run)).started_at is None


async def test_of_a_lost_one_it_is_what_was_said_before(
    still_node: Node,
    worker: ScriptedWorker,
    run: Run,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0.0)
    await worker.log(run, fraction=0.6, started=began(run))
    await worker.leave_silently()
    await clock.advance(timedelta(minutes=1))
    await still_node.step("rescue")
    (attempt, *_) = await attempts(still_node, run)
    assert (attempt.outcome, attempt.started_at) == (AttemptOutcome.LOST, from_micros(began(run)))
