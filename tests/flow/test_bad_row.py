"""Whatever a row holds, the others go on: the bad one ends with the reason."""

from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from tickwork.api.reply import json_reply
from tickwork.model.access import Caller, Scope
from tickwork.model.dead_letter import DeadLetterFilter
from tickwork.model.execution import ExecutionFilter, ExecutionView
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.job_filter import JobFilter
from tickwork.model.public_ids import parse_execution_id, parse_worker_id
from tickwork.model.rest_worker import ClaimRequest, WorkerRequest
from tickwork.model.task_context import read_outcomes
from tickwork.model.worker_protocol import Failure
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker, note_of

TENANT = 1
CALLER = Caller(TENANT, "default", 1, frozenset({Scope.WORKER}))
NO_RESULT = b'1,"status":"failed"'


async def _executions(node: Node) -> dict[int, ExecutionView]:
    page = await node.history.list(TENANT, ExecutionFilter(), 100)
    return {parse_execution_id(each.id)[0]: each for each in page.items}


async def _create(node: Node, *jobs: Any) -> list[str]:
    return [
        view.id for view in await node.jobs.create(TENANT, [JobRequest(task="work", **job) for job in jobs])
    ]


async def test_a_result_that_is_no_json_stops_nobody_and_reaches_no_answer(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    (parent,) = await _create(still_node, {})
    await still_node.step("claim")
    (run,) = await worker.runs()
    await worker.complete(run, b"1")
    await connection.execute("UPDATE tickwork.execution SET result = $1", NO_RESULT)
    await _create(still_node, {"depends_on": [parent]}, {})
    await still_node.step("claim")
    child, other = sorted(await worker.runs(), key=lambda each: each.job)
    assert other.parents is None
    with pytest.raises(ValueError, match="result of j1, on which it depends, is not valid JSON"):
        read_outcomes(child.parents)
    await worker.come_back([])  # what it holds is handed over again
    shown = (await _executions(still_node))[run.job]
    assert (shown.status, shown.result) == ("completed", None)
    assert "not valid JSON" in shown.reason
    assert msgspec.json.decode(json_reply(shown).body)["status"] == "completed"


async def test_a_payload_that_is_no_json_is_not_handed_to_a_worker_that_speaks_rest(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    await _create(still_node, {}, {})
    await connection.execute("UPDATE tickwork.job SET payload = $1 WHERE id = 1", NO_RESULT)
    registered = await still_node.rest_workers.register(
        CALLER, WorkerRequest(name="r", tasks=["work"], slots=5)
    )
    work = await still_node.rest_workers.claim(CALLER, parse_worker_id(registered.id), ClaimRequest(max=5))
    assert [parse_execution_id(item.id)[0] for item in work.items] == [2]
    assert msgspec.json.decode(json_reply(work).body)
    failed = (await _executions(still_node))[1]
    assert (failed.status, failed.reason) == ("failed", "its payload is not valid JSON")
    jobs = await still_node.jobs.list(TENANT, JobFilter(), 10)
    assert msgspec.json.decode(json_reply(jobs).body)["items"][1]["payload"] is None


async def test_terms_that_cannot_be_read_end_what_waits_on_them_and_nothing_else(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await _create(still_node, {"queue": "bad"}, {"queue": "good"})
    await connection.execute("UPDATE tickwork.lane SET placement = '{' WHERE queue = 'bad'")
    await still_node.step("claim")
    assert [run.job for run in await worker.runs()] == [2]
    ended = (await _executions(still_node))[1]
    assert ended.status == "failed"
    assert ended.reason.startswith("cannot be handed out: DecodeError")
    assert [
        each.job_id for each in (await still_node.dead_letters.list(TENANT, DeadLetterFilter(), 10)).items
    ] == ["j1"]


async def test_the_rate_of_one_queue_that_cannot_be_read_stops_no_other_queue(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await _create(still_node, {"queue": "bad"}, {"queue": "good"})
    await connection.execute(
        "INSERT INTO tickwork.limiter (tenant_id, kind, name, rate) VALUES (1, 'queue', 'bad', 'often')"
    )
    await still_node.step("claim")
    assert [run.job for run in await worker.runs()] == [2]
    assert (await _executions(still_node))[1].reason.startswith("cannot be handed out")


@pytest.mark.parametrize(
    ("column", "nonsense"),
    [("timing", "{"), ("timing", '{"cron":"99 99 * * *"}'), ("timing", "[]"), ("catch_up", "?")],
)
async def test_a_rule_that_cannot_be_read_is_stopped_and_the_others_fire(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection, column: str, nonsense: str
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    await _create(still_node, {"schedule": "every 5 minutes"}, {"schedule": "every 10 minutes"})
    await connection.execute(f"UPDATE tickwork.rule SET {column} = $1 WHERE id = 1", nonsense)  # noqa: S608
    await clock.set(await connection.fetchval("SELECT tickwork.clock() + interval '15 minutes'"))
    while await still_node.step("fire"):
        pass
    fired = await connection.fetch("SELECT DISTINCT job_id FROM tickwork.execution")
    assert [row["job_id"] for row in fired] == [2]
    jobs = {job.id: job for job in (await still_node.jobs.list(TENANT, JobFilter(), 10)).items}
    assert (jobs["j1"].status, jobs["j2"].status) == ("failed", "active")
    (missed,) = await still_node.history.missed(TENANT, 1, 10)
    assert missed.reason.startswith("its schedule cannot be fired")


async def test_a_job_in_a_bad_lane_does_not_stop_the_rule_that_it_shares(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    every = {"schedule": "every 10 minutes"}
    await _create(still_node, every | {"queue": "bad"}, every | {"queue": "good"})
    await connection.execute("UPDATE tickwork.lane SET placement = '{' WHERE queue = 'bad'")
    await clock.set(await connection.fetchval("SELECT next_at FROM tickwork.rule"))
    await worker.beat()
    await still_node.step("fire")
    await still_node.step("claim")
    assert [run.job for run in await worker.runs()] == [2]
    assert (await _executions(still_node))[1].status == "failed"
    assert (await still_node.jobs.get(TENANT, 1)).status == "active"


async def test_a_definition_that_cannot_be_read_ends_its_execution_and_others_are_settled(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await _create(still_node, {}, {})
    await still_node.step("claim")
    bad, good = await worker.runs()
    await connection.execute("UPDATE tickwork.job SET definition = '[]' WHERE id = $1", bad.job)
    failure = Failure("E", "no")
    for run in (bad, good):
        await worker.fail(run, failure)
    executions = await _executions(still_node)
    assert executions[bad.job].status == "failed"
    assert executions[bad.job].reason.startswith("its job cannot be read")
    assert executions[good.job].waiting_for == "retry"
    assert len((await still_node.jobs.list(TENANT, JobFilter(), 10)).items) == 2


async def test_what_a_dead_worker_held_is_rescued_beside_what_cannot_be_read(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tickwork.dispatch.rescue._GRACE", 0.0)
    first = await ScriptedWorker.connect(still_node, ["work"])
    await _create(still_node, {}, {})
    await still_node.step("claim")
    await first.leave_silently()
    second = await ScriptedWorker.connect(still_node, ["work"])
    await _create(still_node, {})
    await still_node.step("claim")
    await second.leave_silently()
    await connection.execute("UPDATE tickwork.job SET definition = '[]' WHERE id = 1")
    broken = "UPDATE tickwork.lease SET job_ids = job_ids || 7::bigint, tenant_ids = '{1,1,1}' WHERE worker_id = $1"
    await connection.execute(broken, second.welcome.worker)
    await clock.advance(timedelta(minutes=1))
    with pytest.raises(ValueError, match="zip"):
        await still_node.step("rescue")  # what the second one held stays: the loop shows it
    executions = await _executions(still_node)
    assert [executions[job].status for job in (1, 2, 3)] == ["failed", "pending", "running"]
    assert executions[1].reason.startswith("its job cannot be read")


async def test_a_one_time_job_that_cannot_be_promoted_fails_and_the_others_are(
    clock: SettableClock, still_node: Node, connection: asyncpg.Connection
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work"])
    far = datetime.now(UTC) + timedelta(days=300)
    await _create(still_node, {"schedule": {"at": far.isoformat()}}, {"schedule": {"at": far.isoformat()}})
    await clock.set(far)
    await still_node.step("maintain partitions")
    await connection.execute(
        "INSERT INTO tickwork.execution "
        "(tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at) "
        "SELECT tenant_id, scheduled_for, id, lane_id, priority, 'schedule', 'pending', scheduled_for "
        "FROM tickwork.job WHERE id = 1"
    )
    await still_node.step("create deferred")
    jobs = await connection.fetch("SELECT deferred, status::text FROM tickwork.job ORDER BY id")
    assert [tuple(job) for job in jobs] == [(False, "failed"), (False, "active")]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.execution") == 2


async def test_an_outcome_that_the_database_refuses_is_a_failed_attempt_and_the_others_are_recorded(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await _create(still_node, *[{"retry": RetryRequest(max_attempts=1)}] * 5)
    await still_node.step("claim")
    runs = await worker.runs()
    await connection.execute(
        "ALTER TABLE tickwork.execution ADD CONSTRAINT no_three CHECK (result IS DISTINCT FROM '3' OR job_id <> 3)"
    )
    await worker.report_all(runs, b"3")
    executions = await _executions(still_node)
    assert [executions[job].status for job in range(1, 6)] == ["completed"] * 2 + ["failed"] + [
        "completed"
    ] * 2
    assert "could not be recorded: CheckViolationError" in executions[3].error.message
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0


async def test_notes_that_the_database_refuses_are_dropped_and_the_others_are_kept(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await _create(still_node, {}, {})
    await still_node.step("claim")
    one, two = await worker.runs()
    await connection.execute("ALTER TABLE tickwork.log ADD CONSTRAINT no_one CHECK (job_id <> 1)")
    for run in (one, two):
        await worker.send_notes([note_of(run, "hello")])
    await still_node.step("write logs")
    kept = await connection.fetch("SELECT job_id FROM tickwork.log")
    assert [row["job_id"] for row in kept] == [2]
    assert not await still_node.step("write logs")
