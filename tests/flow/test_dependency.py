"""Jobs that run after others: once, together, and whatever becomes of those before them."""

from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import later, run_due
from tickwork.model.execution import AttemptOutcome, Blocking, ExecutionFilter, ExecutionStatus, ExecutionView
from tickwork.model.job import Dependency, JobRequest
from tickwork.model.public_ids import job_id, parse_execution_id, parse_job_id
from tickwork.model.task_context import read_outcomes
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
FINAL = Failure("Broken", "it broke", retry=False)


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"], credit=20_000)


def after(*parents: str, ref: str | None = None, **fields: Any) -> JobRequest:
    return JobRequest(task="work", ref=ref, depends_on=list(parents), **fields)


async def diamond(node: Node) -> list[int]:
    made = await node.jobs.create_many(
        TENANT, [after(ref="a"), after("@a", ref="b"), after("@a", ref="c"), after("@b", "@c", ref="d")]
    )
    return [parse_job_id(job.id) for job in made]


async def handed_out(node: Node, worker: ScriptedWorker) -> dict[int, Run]:
    await run_due(node)
    return {run.job: run for run in await worker.runs()}


async def the_execution(node: Node, job: int) -> ExecutionView:
    (execution,) = (await node.history.list(TENANT, ExecutionFilter(job=job), 10)).items
    return execution


async def test_a_diamond_runs_from_top_to_bottom(still_node: Node, worker: ScriptedWorker) -> None:
    a, b, c, d = await diamond(still_node)
    (first,) = (await handed_out(still_node, worker)).values()
    assert first.job == a
    assert [(await the_execution(still_node, job)).waiting_for for job in (b, c, d)] == ["dependency"] * 3
    await worker.complete(first)
    middle = await handed_out(still_node, worker)
    assert middle.keys() == {b, c}
    await worker.complete(middle[b], b'{"rows": 3}')
    assert await handed_out(still_node, worker) == {}
    await worker.complete(middle[c])
    last = await handed_out(still_node, worker)
    assert last.keys() == {d}
    assert [(each.job_id, each.status, each.result) for each in read_outcomes(last[d].parents)] == [
        (job_id(b), "completed", {"rows": 3}),
        (job_id(c), "completed", None),
    ]


async def test_results_too_large_to_hand_over_are_not(still_node: Node, worker: ScriptedWorker) -> None:
    made = await still_node.jobs.create_many(TENANT, [after(ref="a"), after(ref="b"), after("@a", "@b")])
    child = parse_job_id(made[2].id)
    for run in (await handed_out(still_node, worker)).values():
        await worker.complete(run, b'"' + b"x" * 200_000 + b'"')
    run = (await handed_out(still_node, worker))[child]
    with pytest.raises(ValueError, match="400,004 bytes, too many"):
        read_outcomes(run.parents)


async def test_a_failure_blocks_what_comes_after_it_until_the_root_is_retried(
    still_node: Node, worker: ScriptedWorker
) -> None:
    a, b, c, d = await diamond(still_node)
    await worker.complete((await handed_out(still_node, worker))[a])
    middle = await handed_out(still_node, worker)
    await worker.complete(middle[c])
    await worker.fail(middle[b], FINAL)
    assert await handed_out(still_node, worker) == {}
    failed = await the_execution(still_node, b)
    last = await still_node.history.get(TENANT, *parse_execution_id((await the_execution(still_node, d)).id))
    assert last.waiting_for == "dependency"
    assert last.blocked_by == Blocking(failed.id, failed.job_id, ExecutionStatus.FAILED)
    await still_node.dead_letters.retry(TENANT, *parse_execution_id(failed.id))
    again = await handed_out(still_node, worker)
    assert again.keys() == {b}
    await worker.complete(again[b])
    assert (await handed_out(still_node, worker)).keys() == {d}


@pytest.mark.parametrize(
    "how", ["fails", "is cancelled by its task", "is cancelled by hand", "is lost with its job"]
)
async def test_any_outcome_is_enough_where_that_is_asked_for(
    still_node: Node, worker: ScriptedWorker, how: str
) -> None:
    either = Dependency("@a", on="any outcome")
    made = await still_node.jobs.create_many(
        TENANT, [after(ref="a"), JobRequest(task="work", depends_on=[either]), after("@a")]
    )
    a, cleanup, _ = (parse_job_id(job.id) for job in made)
    run = (await handed_out(still_node, worker))[a]
    if how == "fails":
        await worker.fail(run, FINAL)
    elif how == "is cancelled by its task":
        await worker.report(run, AttemptOutcome.CANCELLED, reason="enough")
    elif how == "is cancelled by hand":
        execution = await the_execution(still_node, a)
        await still_node.history.cancel(TENANT, *parse_execution_id(execution.id))
    else:
        await worker.report(run, AttemptOutcome.RETURNED)
        await still_node.jobs.cancel(TENANT, a)
    assert (await handed_out(still_node, worker)).keys() == {cleanup}


async def test_a_parent_counts_once_however_often_it_ends(still_node: Node, worker: ScriptedWorker) -> None:
    either: list[str | Dependency] = [Dependency("@a", on="any outcome"), Dependency("@b", on="any outcome")]
    made = await still_node.jobs.create_many(
        TENANT, [after(ref="a"), after(ref="b"), JobRequest(task="work", depends_on=either)]
    )
    a, b, child = (parse_job_id(job.id) for job in made)
    runs = await handed_out(still_node, worker)
    await worker.fail(runs[a], FINAL)
    await worker.fail(runs[a], FINAL)  # the same again: its acknowledgement was lost
    execution = await the_execution(still_node, a)
    await still_node.dead_letters.retry(TENANT, *parse_execution_id(execution.id))
    again = (await handed_out(still_node, worker))[a]
    await worker.complete(again)
    await worker.complete(again)
    assert await handed_out(still_node, worker) == {}
    await worker.complete(runs[b])
    assert (await handed_out(still_node, worker)).keys() == {child}


async def test_a_child_of_what_has_completed_is_ready_at_once(
    still_node: Node, worker: ScriptedWorker
) -> None:
    (a,) = await still_node.jobs.create(TENANT, [after()])
    await worker.complete((await handed_out(still_node, worker))[parse_job_id(a.id)])
    (child,) = await still_node.jobs.create(TENANT, [after(a.id)])
    assert (await handed_out(still_node, worker)).keys() == {parse_job_id(child.id)}


async def test_a_child_is_not_run_before_its_own_time(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock
) -> None:
    made = await still_node.jobs.create_many(TENANT, [after(ref="a"), after("@a", schedule="in 1h")])
    a, child = (parse_job_id(job.id) for job in made)
    await worker.complete((await handed_out(still_node, worker))[a])
    assert await handed_out(still_node, worker) == {}
    assert (await the_execution(still_node, child)).waiting_for == "due"
    await later(clock, worker, timedelta(hours=1))
    assert (await handed_out(still_node, worker)).keys() == {child}


async def test_ten_thousand_parents_of_one_child_are_counted_in_batches(
    still_node: Node, worker: ScriptedWorker
) -> None:
    refs = [f"p{number}" for number in range(9_999)]
    requests = [*(after(ref=ref) for ref in refs), after(*(f"@{ref}" for ref in refs))]
    made = await still_node.jobs.create_many(TENANT, requests)
    runs = list((await handed_out(still_node, worker)).values())
    assert len(runs) == 9_999
    await worker.report_all(runs[:5_000])
    await worker.report_all(runs[5_000:-1])
    assert await handed_out(still_node, worker) == {}
    await worker.report_all(runs[-1:])
    assert (await handed_out(still_node, worker)).keys() == {parse_job_id(made[-1].id)}


async def test_ten_thousand_children_of_one_parent_go_on_together(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, [after(ref="p"), *(after("@p") for _ in range(9_999))])
    (run,) = (await handed_out(still_node, worker)).values()
    await worker.complete(run)
    assert len(await handed_out(still_node, worker)) == 9_999


@pytest.mark.parametrize("parent_completes", ["before its child has an execution", "after that"])
async def test_a_child_that_is_due_in_a_month_waits_for_both(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock, parent_completes: str
) -> None:
    made = await still_node.jobs.create_many(TENANT, [after(ref="a"), after("@a", schedule="in 30d")])
    a, child = (parse_job_id(job.id) for job in made)
    run = (await handed_out(still_node, worker))[a]
    if parent_completes == "before its child has an execution":
        await worker.complete(run)
    await clock.advance(timedelta(days=25))
    await still_node.step("maintain partitions")
    await still_node.step("create deferred")
    if parent_completes == "after that":
        assert (await the_execution(still_node, child)).waiting_for == "dependency"
        await worker.complete(run)
    assert (await the_execution(still_node, child)).waiting_for == "due"
    await clock.advance(timedelta(days=5))
    back = await ScriptedWorker.connect(still_node, ["work"])
    assert (await handed_out(still_node, back)).keys() == {child}


async def test_a_worker_that_is_lost_for_good_is_an_outcome_too(
    still_node: Node, worker: ScriptedWorker, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0)
    either = Dependency("@a", on="any outcome")
    made = await still_node.jobs.create_many(
        TENANT, [after(ref="a", on_worker_lost="fail"), JobRequest(task="work", depends_on=[either])]
    )
    await handed_out(still_node, worker)
    await worker.leave_silently()
    await clock.advance(timedelta(minutes=1))
    while await still_node.step("rescue"):
        pass
    other = await ScriptedWorker.connect(still_node, ["work"])
    assert (await handed_out(still_node, other)).keys() == {parse_job_id(made[1].id)}
