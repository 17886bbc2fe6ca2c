"""Jobs that repeat and run after others that do: once in each of their rounds."""

from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.model.backfill import BackfillRequest
from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.errors import Conflict, Invalid
from tickwork.model.execution import ExecutionFilter, ExecutionStatus
from tickwork.model.job import Dependency, JobRequest
from tickwork.model.public_ids import from_micros, parse_execution_id, parse_job_id
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
MINUTE = timedelta(minutes=1)
A, B, CHILD, GRANDCHILD = 1, 2, 3, 4


def every_minute(ref: str, **fields: Any) -> JobRequest:
    return JobRequest(task="work", ref=ref, schedule="every 1m", overlap="allow", **fields)


def after(*parents: str, ref: str | None = None) -> JobRequest:
    return JobRequest(task="work", ref=ref, depends_on=list(parents))


FAMILY = [every_minute("a"), every_minute("b"), after("@a", "@b", ref="c"), after("@c")]


async def next_round(node: Node, clock: SettableClock, worker: ScriptedWorker) -> dict[int, Run]:
    await later(clock, worker, MINUTE)
    return await handed_out(node, worker)


async def handed_out(node: Node, worker: ScriptedWorker) -> dict[int, Run]:
    await node.step("skip rounds")
    await run_due(node)
    return {run.job: run for run in await worker.runs()}


async def history(node: Node, job: int) -> list[tuple[str, str | None]]:
    """From the first on."""
    items = (await node.history.list(TENANT, ExecutionFilter(job=job), 100)).items
    return [(each.status, each.reason) for each in reversed(items)]


async def test_a_final_step_runs_after_a_parent_that_was_skipped_when_it_was_fired(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    parent = JobRequest(task="work", ref="a", schedule="every 1m", overlap="skip")
    final = JobRequest(task="work", depends_on=[Dependency("@a", "any outcome")])
    first, last = [parse_job_id(job.id) for job in await still_node.jobs.create_many(TENANT, [parent, final])]
    assert {*await next_round(still_node, clock, worker)} == {first}
    assert {*await next_round(still_node, clock, worker)} == {last}
    assert [status for status, _ in await history(still_node, first)] == ["running", "skipped"]


async def test_a_child_runs_in_each_round_of_its_parents_and_not_by_itself(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY)
    first = await next_round(still_node, clock, worker)
    assert first.keys() == {A, B}
    waiting = (await still_node.history.list(TENANT, ExecutionFilter(job=GRANDCHILD), 10)).items
    assert [(each.status, each.waiting_for) for each in waiting] == [("pending", "dependency")]
    second = await next_round(still_node, clock, worker)
    await worker.complete(second[A])
    await worker.complete(first[B])
    assert await handed_out(still_node, worker) == {}
    await worker.complete(second[B])
    third = await handed_out(still_node, worker)
    assert {job: run.at for job, run in third.items()} == {CHILD: second[A].at}
    await worker.complete(third[CHILD])
    fourth = await handed_out(still_node, worker)
    assert {job: run.at for job, run in fourth.items()} == {GRANDCHILD: second[A].at}


async def test_a_late_parent_is_paired_with_its_own_round(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY)
    first = await next_round(still_node, clock, worker)
    await worker.complete(first[A])
    await worker.fail(first[B], Failure("Busy", "later", retry_after=3600.0))
    for _ in range(2):
        runs = await next_round(still_node, clock, worker)
        await worker.complete(runs[A])
        await worker.complete(runs[B])
        assert {run.at for run in (await handed_out(still_node, worker)).values()} == {runs[A].at}
    await later(clock, worker, timedelta(hours=2))
    late = [run for run in (await handed_out(still_node, worker)).values() if run.attempt == 2]
    await worker.complete(late[0])
    released = [run for run in (await handed_out(still_node, worker)).values() if run.job == CHILD]
    assert [run.at for run in released] == [first[A].at]


async def test_a_round_that_one_parent_missed_is_skipped_and_says_so(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    """Nothing ran for ten minutes. One parent makes up for all of them, the other for none."""
    all_of_them, none = CatchUp("all", within="1h"), CatchUp("skip")
    await still_node.jobs.create_many(
        TENANT, [every_minute("a", catch_up=all_of_them), every_minute("b", catch_up=none), *FAMILY[2:]]
    )
    await later(clock, worker, 10 * MINUTE + timedelta(seconds=20))
    await handed_out(still_node, worker)
    await still_node.step("skip rounds")
    missed = ("skipped", "parent j2 did not run at that time: missed")
    assert await history(still_node, CHILD) == [missed] * 10
    assert await history(still_node, GRANDCHILD) == [missed] * 10
    await later(clock, worker, timedelta(seconds=40))
    await run_due(still_node)
    assert (await history(still_node, CHILD))[10:] == [("pending", None)]


async def test_a_round_in_which_a_parent_is_paused_is_skipped(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY)
    await still_node.jobs.pause(TENANT, B)
    runs = await next_round(still_node, clock, worker)
    assert runs.keys() == {A}
    await still_node.step("skip rounds")
    assert await history(still_node, CHILD) == [
        ("skipped", "parent j2 did not run at that time: it was paused")
    ]
    await still_node.jobs.resume(TENANT, B)
    assert (await next_round(still_node, clock, worker)).keys() == {A, B}
    await still_node.step("skip rounds")
    assert [status for status, _ in await history(still_node, CHILD)] == ["skipped", "pending"]


async def test_what_follows_a_skipped_parent_is_skipped_with_it(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    busy = JobRequest(task="work", ref="a", schedule="every 1m")
    await still_node.jobs.create_many(TENANT, [busy, *FAMILY[1:]])
    first = await next_round(still_node, clock, worker)
    assert (await next_round(still_node, clock, worker)).keys() == {B}
    for job in (CHILD, GRANDCHILD):
        assert await history(still_node, job) == [
            ("pending", None),
            ("skipped", "parent j1 was skipped: overlap"),
        ]
    await worker.complete(first[A])


async def test_rounds_of_a_paused_child_wait_until_it_is_resumed(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY[:3])
    await still_node.jobs.pause(TENANT, CHILD)
    runs = await next_round(still_node, clock, worker)
    (waiting,) = (await still_node.history.list(TENANT, ExecutionFilter(job=CHILD), 10)).items
    assert waiting.waiting_for == "dependency"
    await worker.report_all([*runs.values()])
    assert await handed_out(still_node, worker) == {}
    (waiting,) = (await still_node.history.list(TENANT, ExecutionFilter(job=CHILD), 10)).items
    assert waiting.waiting_for == "paused"
    await still_node.jobs.resume(TENANT, CHILD)
    assert (await handed_out(still_node, worker)).keys() == {CHILD}


async def test_resuming_a_child_does_not_let_it_run_before_its_parents(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY[:3])
    runs = await next_round(still_node, clock, worker)
    await still_node.jobs.pause(TENANT, CHILD)
    await still_node.jobs.resume(TENANT, CHILD)
    assert await handed_out(still_node, worker) == {}
    await worker.report_all([*runs.values()])
    assert (await handed_out(still_node, worker)).keys() == {CHILD}


async def test_running_a_parent_by_hand_makes_no_round(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, [every_minute("a"), after("@a")])
    await still_node.runs.run(TENANT, A)
    await worker.complete((await handed_out(still_node, worker))[A])
    assert await history(still_node, B) == []


async def test_backfilled_rounds_are_paired_too(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    """Three minutes that nobody made up for, then one parent, then the other."""
    none = CatchUp("skip")
    await still_node.jobs.create_many(
        TENANT, [every_minute("a", catch_up=none), every_minute("b", catch_up=none), *FAMILY[2:]]
    )
    await later(clock, worker, 3 * MINUTE + timedelta(seconds=20))
    assert await handed_out(still_node, worker) == {}
    now = await still_node._read.now()
    past = BackfillRequest(from_=now - 5 * MINUTE, to=now, max_active=10)
    with pytest.raises(Conflict, match="backfill those"):
        await still_node.backfills.start(TENANT, CHILD, past)
    for parent in (A, B):
        assert [status for status, _ in await history(still_node, CHILD)] == ["pending"] * (
            5 if parent == B else 0
        )
        await still_node.backfills.start(TENANT, parent, past)
        await still_node.step("backfill")
        await run_due(still_node)
        await worker.report_all(await worker.runs())
    await still_node.step("skip rounds")
    await run_due(still_node)
    runs = await worker.runs()
    assert [run.job for run in runs] == [CHILD] * 5
    assert len(await history(still_node, GRANDCHILD)) == 5


async def test_a_round_that_was_skipped_for_a_parent_runs_when_that_is_backfilled(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY[:3])
    await still_node.jobs.pause(TENANT, B)
    runs = await next_round(still_node, clock, worker)
    await worker.complete(runs[A])
    await still_node.step("skip rounds")
    assert [status for status, _ in await history(still_node, CHILD)] == ["skipped"]
    await still_node.jobs.resume(TENANT, B)
    at = from_micros(runs[A].at)
    await still_node.backfills.start(TENANT, B, BackfillRequest(from_=at, to=at))
    await still_node.step("backfill")
    await worker.complete((await handed_out(still_node, worker))[B])
    again = await handed_out(still_node, worker)
    assert {job: run.at for job, run in again.items()} == {CHILD: runs[A].at}


async def test_a_parent_that_runs_once_has_to_have_counted_once(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(
        TENANT, [every_minute("a"), JobRequest(task="work", ref="setup"), after("@a", "@setup")]
    )
    setup, child = 2, 3
    begun = (await handed_out(still_node, worker))[setup]
    runs = await next_round(still_node, clock, worker)
    await worker.complete(runs[A])
    assert await handed_out(still_node, worker) == {}
    await worker.complete(begun)
    assert (await handed_out(still_node, worker)).keys() == {child}
    runs = await next_round(still_node, clock, worker)
    await worker.complete(runs[A])
    assert (await handed_out(still_node, worker)).keys() == {child}


async def test_a_failed_round_blocks_only_itself_and_goes_on_when_it_is_retried(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY[:3])
    first = await next_round(still_node, clock, worker)
    await worker.complete(first[A])
    await worker.fail(first[B], Failure("Broken", "it broke", retry=False))
    second = await next_round(still_node, clock, worker)
    await worker.report_all([*second.values()])
    assert {run.at for run in (await handed_out(still_node, worker)).values()} == {second[A].at}
    failed = (
        await still_node.history.list(TENANT, ExecutionFilter(job=B, status=ExecutionStatus.FAILED), 1)
    ).items[0]
    await still_node.dead_letters.retry(TENANT, *parse_execution_id(failed.id))
    await worker.complete((await handed_out(still_node, worker))[B])
    assert {run.at for run in (await handed_out(still_node, worker)).values()} == {first[A].at}


async def test_followers_go_with_a_parent_to_its_new_schedule(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create_many(TENANT, [every_minute("a"), after("@a")])
    await still_node.jobs.patch(TENANT, A, {"schedule": "every 1h"})
    parent, child = await still_node.jobs.get(TENANT, A), await still_node.jobs.get(TENANT, B)
    assert child.schedule == parent.schedule
    assert child.next_run_at == parent.next_run_at
    await later(clock, worker, timedelta(hours=1))
    await worker.complete((await handed_out(still_node, worker))[A])
    assert (await handed_out(still_node, worker)).keys() == {B}


async def test_a_child_that_joins_begins_with_the_next_whole_round(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    """A round that was fired ahead of its time does not know of a child that came after it."""
    (a,) = await still_node.jobs.create(TENANT, [every_minute("a")])
    await later(clock, worker, MINUTE - timedelta(milliseconds=100))
    ahead = (await handed_out(still_node, worker))[A]
    (child,) = await still_node.jobs.create(TENANT, [after(a.id)])
    await later(clock, worker, timedelta(milliseconds=200))
    await worker.complete(ahead)
    assert await handed_out(still_node, worker) == {}
    assert await history(still_node, parse_job_id(child.id)) == []
    await worker.complete((await next_round(still_node, clock, worker))[A])
    assert (await handed_out(still_node, worker)).keys() == {parse_job_id(child.id)}


@pytest.mark.parametrize(
    ("requests", "path", "message"),
    [
        (
            [every_minute("a"), JobRequest(task="work", ref="h", schedule="every 1h"), after("@a", "@h")],
            "[2].depends_on",
            "their rounds cannot be paired: @a every minute, @h every hour",
        ),
        (
            [every_minute("a"), JobRequest(task="work", schedule="every 1m", depends_on=["@a"])],
            "[1].schedule",
            "is given by @a",
        ),
        (
            [
                JobRequest(task="work", ref="once"),
                JobRequest(task="work", schedule="every 1m", depends_on=["@once"]),
            ],
            "[1].schedule",
            "run once",
        ),
    ],
    ids=["other times", "times of its own", "nothing to repeat with"],
)
async def test_rounds_that_cannot_be_paired_are_refused(
    still_node: Node, worker: ScriptedWorker, requests: list[JobRequest], path: str, message: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await still_node.jobs.create_many(TENANT, requests)
    (error,) = refused.value.errors
    assert error.path == path
    assert message in error.message


async def test_a_blocked_round_is_given_up_when_its_day_is_dropped(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await still_node.jobs.create_many(TENANT, FAMILY)
    runs = await next_round(still_node, clock, worker)
    await worker.complete(runs[A])
    await worker.fail(runs[B], Failure("Broken", "it broke", retry=False))
    for job in (A, B, CHILD, GRANDCHILD):
        await still_node.jobs.pause(TENANT, job)  # no further rounds
    await later(clock, None, timedelta(days=40))
    await still_node.step("maintain partitions")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 0
    assert await connection.fetchval("SELECT count(*) FROM tickwork.awaited") == 0
