"""Branches of a graph: what runs after a failure, on a condition, or whatever happened, and what is not taken."""

from datetime import timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from support.node_steps import later, run_due
from tickwork.model.condition import Condition
from tickwork.model.execution import AttemptOutcome, ExecutionFilter, ExecutionView
from tickwork.model.job import Dependency, JobRequest, JobStatus
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
FINAL = Failure("Broken", "it broke", retry=False)


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    return await ScriptedWorker.connect(still_node, ["work"], credit=20_000)


def step(ref: str, *parents: str | Dependency, **fields: Any) -> JobRequest:
    return JobRequest(task="work", ref=ref, depends_on=list(parents), **fields)


def on_failure(ref: str) -> Dependency:
    return Dependency(f"@{ref}", "failure")


def whatever(ref: str) -> Dependency:
    return Dependency(f"@{ref}", "any outcome")


def when(ref: str, condition: dict[str, Any]) -> Dependency:
    return Dependency(f"@{ref}", when=msgspec.convert(condition, Condition))


async def create(node: Node, *steps: JobRequest) -> list[int]:
    return [parse_job_id(job.id) for job in await node.jobs.create_many(TENANT, list(steps))]


async def handed_out(node: Node, worker: ScriptedWorker) -> dict[int, Run]:
    await run_due(node)
    return {run.job: run for run in await worker.runs()}


async def the_execution(node: Node, job: int) -> ExecutionView:
    (execution,) = (await node.history.list(TENANT, ExecutionFilter(job=job), 10)).items
    return execution


async def outcome(node: Node, job: int) -> tuple[str, str | None]:
    execution = await the_execution(node, job)
    return execution.status, execution.reason


async def test_compensation_runs_only_after_a_failure(still_node: Node, worker: ScriptedWorker) -> None:
    pay, refund, thank = await create(
        still_node, step("pay"), step("refund", on_failure("pay")), step("thank", "@pay")
    )
    await worker.fail((await handed_out(still_node, worker))[pay], FINAL)
    assert (await handed_out(still_node, worker)).keys() == {refund}
    assert (await the_execution(still_node, thank)).waiting_for == "dependency"


async def test_compensation_of_what_completes_is_not_taken(still_node: Node, worker: ScriptedWorker) -> None:
    pay, refund, mail, thank = await create(
        still_node,
        step("pay"),
        step("refund", on_failure("pay")),
        step("mail", "@refund"),
        step("thank", "@pay"),
    )
    await worker.complete((await handed_out(still_node, worker))[pay])
    assert (await handed_out(still_node, worker)).keys() == {thank}
    assert await outcome(still_node, refund) == ("skipped", "not taken: parent j1 did not fail")
    assert await outcome(still_node, mail) == ("skipped", "not taken: parent j2 was not taken")
    assert (await still_node.jobs.get(TENANT, refund)).status is JobStatus.SKIPPED


async def test_a_parent_that_is_tried_again_has_not_failed_yet(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    pay, refund = await create(still_node, step("pay"), step("refund", on_failure("pay")))
    await worker.fail((await handed_out(still_node, worker))[pay], Failure("Busy", "later", retry_after=60.0))
    assert await handed_out(still_node, worker) == {}
    assert (await the_execution(still_node, refund)).waiting_for == "dependency"


async def test_compensation_waits_while_its_parent_is_cancelled(
    still_node: Node, worker: ScriptedWorker
) -> None:
    pay, refund = await create(still_node, step("pay"), step("refund", on_failure("pay")))
    await worker.report((await handed_out(still_node, worker))[pay], AttemptOutcome.CANCELLED, reason="stop")
    assert (await the_execution(still_node, refund)).waiting_for == "dependency"
    blocked = (await still_node.history.list(TENANT, ExecutionFilter(blocked=True), 10)).items
    assert [each.job_id for each in blocked] == ["j2"]
    await still_node.dead_letters.retry(
        TENANT, *parse_execution_id((await the_execution(still_node, pay)).id)
    )
    await worker.fail((await handed_out(still_node, worker))[pay], FINAL)
    assert (await handed_out(still_node, worker)).keys() == {refund}


async def test_a_retry_after_compensation_does_not_take_it_back(
    still_node: Node, worker: ScriptedWorker
) -> None:
    pay, refund = await create(still_node, step("pay"), step("refund", on_failure("pay")))
    await worker.fail((await handed_out(still_node, worker))[pay], FINAL)
    run = (await handed_out(still_node, worker))[refund]
    await still_node.dead_letters.retry(
        TENANT, *parse_execution_id((await the_execution(still_node, pay)).id)
    )
    await worker.complete((await handed_out(still_node, worker))[pay])
    await worker.complete(run)
    assert await outcome(still_node, refund) == ("completed", None)


@pytest.mark.parametrize(
    ("result", "taken"),
    [
        (b'{"status": "ok", "rows": 3}', "ok"),
        (b'{"status": "empty"}', "other"),
        (b'["ok"]', "other"),
        (b"null", "other"),
        (None, "other"),
    ],
)
async def test_one_of_two_branches_is_taken_by_the_result_and_they_join(
    still_node: Node, worker: ScriptedWorker, result: bytes | None, taken: str
) -> None:
    is_ok = {"path": "status", "equals": "ok"}
    load, ok, other, join = await create(
        still_node,
        step("load"),
        step("ok", when("load", is_ok)),
        step("other", when("load", {"not": is_ok})),
        step("join", "@ok", "@other"),
    )
    await worker.complete((await handed_out(still_node, worker))[load], result)
    branch, not_taken = (ok, other) if taken == "ok" else (other, ok)
    runs = await handed_out(still_node, worker)
    assert runs.keys() == {branch}
    reason = "not taken: the condition on the result of parent j1 is not true"
    assert await outcome(still_node, not_taken) == ("skipped", reason)
    await worker.complete(runs[branch])
    assert (await handed_out(still_node, worker)).keys() == {join}


async def test_what_comes_after_only_untaken_branches_is_not_taken(
    still_node: Node, worker: ScriptedWorker
) -> None:
    never = {"path": "no", "exists": True}
    jobs = await create(
        still_node,
        step("a"),
        step("b", when("a", never)),
        step("c", when("a", never)),
        step("join", "@b", "@c"),
        step("refund", on_failure("b")),
        step("final", whatever("join"), whatever("refund")),
    )
    await worker.complete((await handed_out(still_node, worker))[jobs[0]], b"{}")
    assert (await handed_out(still_node, worker)).keys() == {jobs[5]}
    assert await outcome(still_node, jobs[3]) == ("skipped", "not taken: parent j2 was not taken")
    assert await outcome(still_node, jobs[4]) == ("skipped", "not taken: parent j2 was not taken")


async def test_the_final_step_runs_when_what_it_waits_for_is_blocked(
    still_node: Node, worker: ScriptedWorker
) -> None:
    a, b, c, d, final = await create(
        still_node,
        step("a"),
        step("b", "@a"),
        step("c", "@b"),
        step("d"),
        step("final", whatever("c"), whatever("d")),
    )
    runs = await handed_out(still_node, worker)
    await worker.fail(runs[a], FINAL)
    assert await handed_out(still_node, worker) == {}
    await worker.complete(runs[d])
    assert (await handed_out(still_node, worker)).keys() == {final}
    assert [(await the_execution(still_node, job)).waiting_for for job in (b, c)] == ["dependency"] * 2


async def test_a_final_step_that_comes_later_finds_out_that_its_parent_is_blocked(
    still_node: Node, worker: ScriptedWorker
) -> None:
    a, _, c = await create(still_node, step("a"), step("b", "@a"), step("c", "@b"))
    await worker.fail((await handed_out(still_node, worker))[a], FINAL)
    (final,) = await create(
        still_node, JobRequest(task="work", depends_on=[Dependency(f"j{c}", "any outcome")])
    )
    assert (await handed_out(still_node, worker)).keys() == {final}


async def test_new_steps_after_a_failure_are_blocked_and_their_final_step_runs(
    still_node: Node, worker: ScriptedWorker
) -> None:
    (a,) = await create(still_node, step("a"))
    await worker.fail((await handed_out(still_node, worker))[a], FINAL)
    b, refund, final = await create(
        still_node,
        JobRequest(task="work", ref="b", depends_on=[f"j{a}"]),
        JobRequest(task="work", depends_on=[Dependency(f"j{a}", "failure")]),
        step("final", whatever("b")),
    )
    assert (await handed_out(still_node, worker)).keys() == {refund, final}
    assert (await the_execution(still_node, b)).waiting_for == "dependency"


async def test_new_branches_of_what_has_ended_are_decided_at_once(
    still_node: Node, worker: ScriptedWorker
) -> None:
    (a,) = await create(still_node, step("a"))
    await worker.complete((await handed_out(still_node, worker))[a], b'{"n": 5}')
    few, many, refund = await create(
        still_node,
        JobRequest(task="work", depends_on=[Dependency(f"j{a}", when=Condition(path="n", less=5))]),
        JobRequest(task="work", depends_on=[Dependency(f"j{a}", when=Condition(path="n", greater=4.5))]),
        JobRequest(task="work", depends_on=[Dependency(f"j{a}", "failure")]),
    )
    assert (await handed_out(still_node, worker)).keys() == {many}
    assert [(await outcome(still_node, job))[0] for job in (few, refund)] == ["skipped", "skipped"]


async def test_a_condition_that_is_false_decides_before_the_other_parents_end(
    still_node: Node, worker: ScriptedWorker
) -> None:
    a, b, child = await create(
        still_node, step("a"), step("b"), step("child", when("a", {"equals": 1}), "@b")
    )
    runs = await handed_out(still_node, worker)
    await worker.complete(runs[a], b"2")
    assert (await outcome(still_node, child))[0] == "skipped"
    await worker.complete(runs[b])
    assert await handed_out(still_node, worker) == {}


async def test_a_result_that_cannot_be_read_takes_no_branch(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    (a,) = await create(still_node, step("a"))
    await worker.complete((await handed_out(still_node, worker))[a])
    await connection.execute("UPDATE tickwork.execution SET result = 'no JSON'")
    child, plain = await create(
        still_node,
        JobRequest(task="work", depends_on=[Dependency(f"j{a}", when=Condition(exists=True))]),
        JobRequest(task="work", depends_on=[f"j{a}"]),
    )
    assert (await handed_out(still_node, worker)).keys() == {plain}
    assert await outcome(still_node, child) == (
        "skipped",
        "not taken: the result of parent j1 is not valid JSON",
    )


async def test_branches_not_taken_are_listed_apart_from_blocked_ones(
    still_node: Node, worker: ScriptedWorker
) -> None:
    a, b, refund, after = await create(
        still_node, step("a"), step("b"), step("refund", on_failure("a")), step("after", "@b")
    )
    runs = await handed_out(still_node, worker)
    await worker.complete(runs[a])
    await worker.fail(runs[b], FINAL)
    await still_node.step("number events")
    not_taken = (await still_node.history.list(TENANT, ExecutionFilter(not_taken=True), 10)).items
    blocked = (await still_node.history.list(TENANT, ExecutionFilter(blocked=True), 10)).items
    assert [each.job_id for each in not_taken] == [f"j{refund}"]
    assert [each.job_id for each in blocked] == [f"j{after}"]
    graph = {each.job_id: each for each in (await still_node.jobs.graph(TENANT, a, 10)).items}
    assert graph["j3"].reason == "not taken: parent j1 did not fail"
    assert [(each.job_id, each.on, each.when) for each in graph["j3"].parents] == [("j1", "failure", False)]


@pytest.mark.parametrize("how", ["its time comes", "it is moved", "it is resumed too late"])
async def test_a_job_due_in_a_month_on_an_untaken_branch_is_skipped_when_its_execution_is_created(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, how: str
) -> None:
    a, child, after = await create(
        still_node,
        step("a"),
        step("child", on_failure("a"), schedule="in 30d"),
        step("after", "@child"),
    )
    await worker.complete((await handed_out(still_node, worker))[a])
    assert (await still_node.jobs.get(TENANT, child)).status is JobStatus.SKIPPED
    assert (await outcome(still_node, after))[1] == "not taken: parent j2 was not taken"
    if how == "it is moved":
        await still_node.jobs.patch(TENANT, child, {"schedule": "in 1m"})
        await later(clock, worker, timedelta(minutes=2))
    elif how == "its time comes":
        await clock.advance(timedelta(days=25))
        await still_node.step("maintain partitions")
        await still_node.step("create deferred")
        await later(clock, worker, timedelta(days=6))
    else:
        await still_node.jobs.pause(TENANT, child)
        await later(clock, worker, timedelta(days=31))
        await still_node.step("maintain partitions")
        await still_node.jobs.resume(TENANT, child)
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=20_000)
    assert await handed_out(still_node, worker) == {}
    assert await outcome(still_node, child) == ("skipped", "not taken: parent j1 did not fail")


async def test_a_parent_cancelled_before_it_has_an_execution_counts_for_any_outcome(
    still_node: Node, worker: ScriptedWorker
) -> None:
    far, _, final, clean = await create(
        still_node,
        step("far", schedule="in 30d"),
        step("child", "@far"),
        step("final", whatever("child")),
        step("clean", whatever("far")),
    )
    await still_node.jobs.cancel(TENANT, far)
    assert (await handed_out(still_node, worker)).keys() == {final, clean}


async def test_in_each_round_the_branch_is_taken_that_its_result_asks_for(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    load, ok, refund, join, final = await create(
        still_node,
        step("load", schedule="every 1m", overlap="allow"),
        step("ok", when("load", {"path": "n", "greater": 1})),
        step("refund", on_failure("load")),
        step("join", "@ok", "@refund"),
        step("final", whatever("join")),
    )
    rounds: list[set[int]] = []
    for number in range(3):
        await later(clock, worker, timedelta(minutes=1))
        run = (await handed_out(still_node, worker))[load]
        if number == 2:
            await worker.fail(run, FINAL)
        else:
            await worker.complete(run, b'{"n": %d}' % (number + 1))
        ran: set[int] = set()
        while runs := await handed_out(still_node, worker):
            ran |= runs.keys()
            await worker.report_all(list(runs.values()))
        rounds.append(ran)
    assert rounds == [{final}, {ok, join, final}, {refund, final}]
    history = (await still_node.history.list(TENANT, ExecutionFilter(job=join), 10)).items
    assert [each.status for each in history] == ["pending", "completed", "skipped"]
