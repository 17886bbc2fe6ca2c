"""A paused cluster: all can be looked at, nothing fires, nothing is handed over, on any node, until it is resumed."""

from datetime import timedelta

import asyncpg
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.access import Caller, Scope
from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.errors import Conflict
from tickwork.model.execution import ExecutionFilter, ExecutionStatus
from tickwork.model.job import JobRequest
from tickwork.model.rest_worker import ClaimRequest, WorkerRequest
from tickwork.model.resume_cluster import ResumeRequest
from tickwork.model.worker import LEASE
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
ADMIN = Caller(TENANT, "default", 1, frozenset({Scope.ADMIN}))
MINUTE = timedelta(minutes=1)


async def executions(node: Node) -> list[tuple[str, str | None]]:
    """The status and the reason of each, in the order of their due times."""
    items = (await node.history.list(TENANT, ExecutionFilter(), 100)).items
    return [(each.status, each.reason) for each in reversed(items)]


async def test_nothing_fires_and_nothing_is_handed_over_until_it_is_resumed(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 1m")])
    await still_node.pause.pause("somebody", "moving house")
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await later(clock, worker, MINUTE)
    await run_due(still_node)
    assert await worker.runs() == []
    assert await executions(still_node) == [("pending", None)]
    assert (await still_node.overview.view(TENANT)).paused
    await still_node.resumption.resume(ResumeRequest(), "somebody")
    await run_due(still_node)
    assert len(await worker.runs()) == 2
    assert not (await still_node.overview.view(TENANT)).paused


async def test_an_attempt_that_a_worker_has_goes_on_and_is_recorded(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    await still_node.pause.pause("somebody")
    await worker.complete(run, b"1")
    assert await executions(still_node) == [("completed", None)]


async def test_the_pause_outlives_the_node_and_holds_for_new_ones(
    still_node: Node, settings: Settings, clock: SettableClock
) -> None:
    await still_node.pause.pause("somebody")
    other = Node(settings)
    await other.open()
    try:
        assert other.pause.is_on()
        await still_node.resumption.resume(ResumeRequest(), "somebody")
        assert other.pause.is_on()
        await other.step("read pause")
        assert not other.pause.is_on()
    finally:
        await other.stop()


async def test_a_node_that_is_started_paused_pauses_all(settings: Settings, nodes: list[Node]) -> None:
    paused = Node(settings, paused=True)
    await paused.open()
    await paused.stop()
    for node in nodes:
        await node.step("read pause")
        assert node.pause.state.paused.by == "--paused"


async def test_pausing_again_changes_nothing(still_node: Node) -> None:
    await still_node.pause.pause("first", "a reason")
    await still_node.pause.pause("second")
    assert (still_node.pause.state.paused.by, still_node.pause.state.paused.reason) == ("first", "a reason")


async def test_a_rest_worker_claims_nothing(still_node: Node) -> None:
    registered = await still_node.rest_workers.register(ADMIN, WorkerRequest(name="rest", tasks=["work"]))
    number = int(registered.id[1:], 32)
    await still_node.jobs.create(TENANT, [JobRequest(task="work")] * 2)
    work = await still_node.rest_workers.claim(ADMIN, number, ClaimRequest(max=1))
    assert len(work.items) == 1  # and is not started yet, so that the next claim would give it again
    await still_node.pause.pause("somebody")
    assert (await still_node.rest_workers.claim(ADMIN, number, ClaimRequest(max=2))).items == []
    await still_node.resumption.resume(ResumeRequest(), "somebody")
    assert len((await still_node.rest_workers.claim(ADMIN, number, ClaimRequest(max=2))).items) == 1


async def test_a_worker_that_reconnects_is_sent_what_it_lacks_only_after_the_pause(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    assert len(await worker.runs()) == 1
    await worker.leave_silently()
    await still_node.pause.pause("somebody")
    again = await ScriptedWorker.connect(still_node, ["work"], resume=worker.welcome.token)
    await still_node.step("reconcile")
    assert await again.runs() == []
    await still_node.resumption.resume(ResumeRequest(), "somebody")
    await still_node.step("reconcile")
    assert len(await again.runs()) == 1


async def test_why_an_execution_waits_names_the_pause(still_node: Node, worker: ScriptedWorker) -> None:
    await still_node.pause.pause("somebody")
    (job,) = await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    (execution,) = (await still_node.history.list(TENANT, ExecutionFilter(), 1)).items
    why = await still_node.reasons.of(TENANT, 1, execution.scheduled_for)
    assert [cause.kind for cause in why.causes] == ["cluster_paused"]
    assert (job.id, why.expected_start_reason) == ("j1", "when the cluster is resumed")


async def test_a_paused_node_is_not_silent(nodes: list[Node], clock: SettableClock) -> None:
    for node in nodes:
        await node.cluster.report()
    await nodes[0].pause.pause("somebody")
    assert {node.status for node in (await nodes[0].cluster.view()).nodes} == {"ready"}


async def test_resuming_what_is_not_paused_is_a_conflict(still_node: Node) -> None:
    with pytest.raises(Conflict, match="not paused"):
        await still_node.resumption.resume(ResumeRequest(), "somebody")


# What there is to decide


async def interrupted(node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    """A recurring job missed ten due times, one-time jobs are overdue, and workers are gone with two executions."""
    await node.jobs.create(
        TENANT,
        [
            JobRequest(task="work", name="lost"),
            JobRequest(task="work", name="given up", on_worker_lost="fail"),
            JobRequest(
                task="work", name="often", schedule="every 1m", catch_up=CatchUp("all"), overlap="allow"
            ),
        ],
    )
    await node.step("claim")
    assert len(await worker.runs()) == 2
    await worker.leave_silently()
    await node.pause.pause("somebody")
    await node.jobs.create(TENANT, [JobRequest(task="work", name="overdue")])
    await clock.advance(10 * MINUTE)


async def test_the_report_says_what_was_missed_interrupted_and_is_overdue(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await interrupted(still_node, clock, worker)
    report = await still_node.resumption.report(50)
    assert report.paused.by == "somebody"
    assert report.restored is None
    (missed,) = report.missed
    assert (report.missed_jobs, missed.name, missed.due, missed.due_is_exact) == (1, "often", 10, True)
    assert (missed.runs, missed.catch_up, missed.last_at - missed.first_at) == (10, "all", 9 * MINUTE)
    assert report.interrupted_executions == 2
    assert [(each.name, each.on_worker_lost) for each in report.interrupted] == [
        ("lost", "retry"),
        ("given up", "fail"),
    ]
    assert report.overdue_executions == 1
    assert [(each.name, each.one_time) for each in report.overdue] == [("overdue", True)]


async def test_by_default_each_job_decides(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await interrupted(still_node, clock, worker)
    done = await still_node.resumption.resume(ResumeRequest(), "somebody")
    assert (done.resumed, done.skipped_rules, done.retried, done.cancelled) == (True, 0, 0, 0)
    other = await ScriptedWorker.connect(still_node, ["work"])
    await still_node.step("rescue")  # the first step only begins to wait for live workers
    still_node._rescuer._reachable_since -= 10
    while await still_node.step("rescue"):
        pass
    await run_due(still_node)
    assert len(await other.runs()) == 12  # ten that were missed, the lost one and the overdue one
    assert await connection.fetchval("SELECT reason FROM tickwork.execution WHERE status = 'failed'") == (
        "worker lost"
    )


async def test_what_was_missed_can_be_skipped(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await interrupted(still_node, clock, worker)
    done = await still_node.resumption.resume(ResumeRequest(missed="skip"), "somebody")
    assert done.skipped_rules == 1
    await run_due(still_node)
    round_ = await connection.fetchrow("SELECT missed, reason FROM tickwork.round")
    assert tuple(round_) == (10, "skipped when the cluster was resumed")
    await clock.advance(MINUTE)
    await run_due(still_node)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution WHERE job_id = 3") == 1


async def test_a_schedule_that_cannot_be_read_stops_and_keeps_none_from_being_skipped(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await interrupted(still_node, clock, worker)
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule="every 2m")])
    await connection.execute("UPDATE tickwork.rule SET timing = 'nonsense', next_at = next_at - '1h'::interval"
                             " WHERE id = 2")  # fmt: skip
    assert len((await still_node.resumption.report(50)).missed) == 1
    done = await still_node.resumption.resume(ResumeRequest(missed="skip"), "somebody")
    assert done.resumed
    assert (await still_node.jobs.get(TENANT, 5)).status == "failed"


async def test_what_was_interrupted_can_be_run_again(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await interrupted(still_node, clock, worker)
    done = await still_node.resumption.resume(ResumeRequest(running="retry"), "somebody")
    assert (done.retried, done.cancelled) == (2, 0)
    rows = await connection.fetch(
        "SELECT status::text, attempt, losses FROM tickwork.execution WHERE job_id < 3"
    )
    assert {tuple(row) for row in rows} == {("pending", 2, 0)}


async def test_all_can_be_cancelled(still_node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    await interrupted(still_node, clock, worker)
    request = ResumeRequest(missed="skip", running="cancel", overdue="cancel")
    done = await still_node.resumption.resume(request, "somebody")
    assert (done.retried, done.cancelled) == (0, 3)
    assert (
        await executions(still_node)
        == [(ExecutionStatus.CANCELLED, "cancelled when the cluster was resumed")] * 3
    )
    report = await still_node.resumption.report(50)
    assert (report.missed, report.interrupted, report.overdue) == ([], [], [])


async def test_what_live_workers_have_is_left_alone(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.jobs.create(TENANT, [JobRequest(task="work")])
    await still_node.step("claim")
    (run,) = await worker.runs()
    await still_node.pause.pause("somebody")
    await later(clock, worker, LEASE / 2)
    await still_node.resumption.resume(ResumeRequest(running="cancel", overdue="cancel"), "somebody")
    await worker.complete(run, b"1")
    assert await executions(still_node) == [("completed", None)]


async def test_a_one_time_job_that_had_no_execution_yet_is_overdue_too(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    at = await connection.fetchval("SELECT tickwork.clock() + interval '40 days'")
    await still_node.jobs.create(TENANT, [JobRequest(task="work", schedule={"at": at.isoformat()})])
    assert await connection.fetchval("SELECT deferred FROM tickwork.job")
    await still_node.pause.pause("somebody")
    await clock.advance(timedelta(days=41))
    assert [each.one_time for each in (await still_node.resumption.report(5)).overdue] == [True]
    done = await still_node.resumption.resume(ResumeRequest(overdue="cancel"), "somebody")
    assert done.cancelled == 1


async def test_pausing_and_resuming_is_news(still_node: Node, connection: asyncpg.Connection) -> None:
    await still_node.pause.pause("somebody", "why")
    await still_node.resumption.resume(ResumeRequest(), "somebody else")
    rows = await connection.fetch(
        "SELECT kind, detail::json ->> 'by' FROM tickwork.new_event WHERE kind LIKE 'cluster.%' ORDER BY id"
    )
    assert [tuple(row) for row in rows] == [
        ("cluster.paused", "somebody"),
        ("cluster.resumed", "somebody else"),
    ]
