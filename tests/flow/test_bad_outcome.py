"""A worker that reports nonsense cannot keep others' outcomes from being recorded, and what it did is told."""

from typing import Any

import asyncpg
import msgspec

from tickwork.model.execution import AttemptOutcome, ExecutionFilter
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.worker_protocol import (
    Beat,
    Claim,
    Failure,
    Hello,
    Outcome,
    Outcomes,
    Renewed,
    Run,
    TaskOffer,
)
from tickwork.node import Node
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
LARGE = 256 * 1024


async def _handed_out(node: Node, worker: ScriptedWorker, count: int = 1, **job: Any) -> list[Run]:
    await node.jobs.create(TENANT, [JobRequest(task="work", **job)] * count)
    await node.step("claim")
    return await worker.runs()


async def _only_execution(node: Node) -> Any:
    (execution,) = (await node.history.list(TENANT, ExecutionFilter(), 10)).items
    return execution


BAD_OUTCOMES: list[tuple[AttemptOutcome, dict[str, Any], str]] = [
    (AttemptOutcome.SNOOZED, {"snooze": 1e300}, "a snooze of 1e+300 s"),
    (AttemptOutcome.SNOOZED, {"snooze": -1.0}, "a snooze of -1.0 s"),
    (
        AttemptOutcome.FAILED,
        {"failure": Failure("E", "no", retry_after=float("nan"))},
        "a retry after nan s",
    ),
    (AttemptOutcome.COMPLETED, {"finished": 2**62}, "times that do not exist"),
    (AttemptOutcome.COMPLETED, {"result": b'1,"status":"failed"'}, "not valid JSON"),
    (AttemptOutcome.COMPLETED, {"result": b""}, "not valid JSON"),
    (AttemptOutcome.COMPLETED, {"result": b"NaN"}, "not valid JSON"),
    (AttemptOutcome.COMPLETED, {"result": b'"\xff"'}, "not valid JSON"),
    (AttemptOutcome.COMPLETED, {"result": b'"\\ud800"'}, "not valid JSON"),
    (AttemptOutcome.COMPLETED, {"result": b"1e400"}, "out of range"),
    (AttemptOutcome.COMPLETED, {"result": b"9" * 100_000}, "out of range"),
    (AttemptOutcome.COMPLETED, {"result": b'{"a":"\\u0000"}'}, "NUL"),
    (AttemptOutcome.COMPLETED, {"result": b"[" * 33 + b"]" * 33}, "deeper than 32 levels"),
    (AttemptOutcome.COMPLETED, {"result": b"[" * 100_000}, "not valid JSON"),
    (AttemptOutcome.COMPLETED, {"result": b'"' + b"x" * LARGE + b'"'}, "the limit is 262144"),
]


async def test_outcomes_that_cannot_be_kept_are_failed_attempts_that_say_why_and_the_others_are_recorded(
    still_node: Node,
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    good, *runs = await _handed_out(still_node, worker, len(BAD_OUTCOMES) + 1)
    outcomes = [
        Outcome(
            run.tenant,
            run.at,
            run.job,
            run.attempt,
            kind,
            **{"started": run.at, "finished": run.at} | details,
        )
        for run, (kind, details, _) in zip(runs, BAD_OUTCOMES, strict=True)
    ]
    done = Outcome(good.tenant, good.at, good.job, 1, AttemptOutcome.COMPLETED, good.at, good.at, b"1")
    await worker._report([*outcomes[:5], done, *outcomes[5:]])
    executions = (await still_node.history.list(TENANT, ExecutionFilter(), 100)).items
    by_job = {parse_execution_id(execution.id)[0]: execution for execution in executions}
    assert by_job.pop(good.job).status == "completed"
    for run, (_, _, told) in zip(runs, BAD_OUTCOMES, strict=True):
        failed = by_job[run.job]
        assert (failed.status, failed.reason, failed.result) == ("failed", "not to be retried", None)
        assert failed.error.type in ("BadOutcome", "BadResult")
        assert told in failed.error.message
    assert isinstance(await worker.beat(), Renewed)


async def test_every_result_that_is_json_is_kept_as_it_is(
    still_node: Node, connection: asyncpg.Connection
) -> None:
    results = [b"null", b'{"a":[1,2.5,"\xc3\xa4"],"a":1}', b' [ "]]]]{{{{" ] ', b'"\\\\u0000"']
    worker = await ScriptedWorker.connect(still_node, ["work"])
    for run, result in zip(await _handed_out(still_node, worker, len(results)), results, strict=True):
        await worker.complete(run, result)
        kept = await connection.fetchval("SELECT result FROM tickwork.execution WHERE job_id = $1", run.job)
        assert kept == result


async def test_what_is_too_long_in_an_error_is_cut(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    (run,) = await _handed_out(still_node, worker)
    failure = Failure("E\0" * 1000, "m" * 100_000, "t" * 99_999 + "!", retry=False, kinds=["K" * 999] * 1000)
    await worker.fail(run, failure)
    execution = await _only_execution(still_node)
    (attempt,) = await still_node.history.attempts(TENANT, *parse_execution_id(execution.id))
    assert len(attempt.error.type) <= 200
    assert "\0" not in attempt.error.type
    assert len(attempt.error.message) == 4000
    assert attempt.error.traceback == "t" * 15_999 + "!"


async def test_a_reason_with_a_null_character_is_recorded_without_it_and_cut(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    (run,) = await _handed_out(still_node, worker)
    await worker.report(run, AttemptOutcome.CANCELLED, reason="no\0thing" + "x" * 10_000)
    execution = await _only_execution(still_node)
    assert (execution.status, execution.reason[:7], len(execution.reason)) == ("cancelled", "nothing", 999)


async def test_an_attempt_that_is_said_to_have_begun_a_thousand_times_is_noted_once(
    still_node: Node, connection: asyncpg.Connection
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    (run,) = await _handed_out(still_node, worker)
    claim = Claim(run.tenant, run.at, run.job, run.attempt)
    await worker.beat([(claim, run.at)] * 1000)
    assert len(still_node._recorder._started) == 1
    await still_node.step("record")
    assert await connection.fetchval("SELECT started_at = scheduled_for FROM tickwork.execution")


def _hello(**changed: Any) -> dict[str, Any]:
    said = {
        "type": "Hello", "name": "w", "host": "h", "version": "1", "slots": 1, "credit": 1,
        "tasks": [["work", {"type": "object"}, None]],
    }  # fmt: skip
    return said | changed


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


NO_HELLOS = [
    b"",
    b"\xc1",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\x91" * 100_000 + b"\x00",
    msgspec.msgpack.encode({"type": "Hello"}),
    msgspec.msgpack.encode({"type": "Beat", "sent": 1.0, "credit": 1}),
    msgspec.msgpack.encode(_hello(name="\0")),
    msgspec.msgpack.encode(_hello(name="n" * 201)),
    msgspec.msgpack.encode(_hello(name="\x01surr")).replace(b"\x01sur", b"\xed\xa0\x80r"),
    msgspec.msgpack.encode(_hello(host="\0")),
    msgspec.msgpack.encode(_hello(version="v" * 101)),
    msgspec.msgpack.encode(_hello(slots=0)),
    msgspec.msgpack.encode(_hello(slots=2**40)),
    msgspec.msgpack.encode(_hello(credit=-1)),
    msgspec.msgpack.encode(_hello(credit=2**62)),
    msgspec.msgpack.encode(_hello(tasks=[["t" * 201, {}, None]])),
    msgspec.msgpack.encode(_hello(tasks=[["work", {}, None]] * 2)),
    msgspec.msgpack.encode(_hello(tasks=[[f"t{n}", {}, None] for n in range(1001)])),
    msgspec.msgpack.encode(_hello(tasks=[["work", {"a": "\0"}, None]])),
    msgspec.msgpack.encode(_hello(tasks=[["work", {}, "\0"]])),
    msgspec.msgpack.encode(_hello(tasks=[["work", _deep(100), None]])),
    msgspec.msgpack.encode(_hello(tasks=[["work", {"a": "x" * 2**20}, None]])),
    msgspec.msgpack.encode(_hello(tasks=[["work", {"a": msgspec.msgpack.Ext(5, b"x")}, None]])),
    msgspec.msgpack.encode(_hello(tasks=[["http", {}, None]])),
    msgspec.msgpack.encode(_hello(labels={"a": "\0"})),
    msgspec.msgpack.encode(_hello(labels={f"l{n}": "" for n in range(21)})),
    msgspec.msgpack.encode(_hello(resources={"cpu": float("nan")})),
    msgspec.msgpack.encode(_hello(resources={"cpu": float("inf")})),
    msgspec.msgpack.encode(_hello(resources={"\0": 1.0})),
    msgspec.msgpack.encode(_hello(weights={"mail": 0.0})),
    msgspec.msgpack.encode(_hello(queues=["\0"])),
    msgspec.msgpack.encode(_hello(queues=["q"] * 101)),
]


async def test_a_hello_that_is_not_one_ends_the_connection_and_leaves_nothing(
    still_node: Node, connection: asyncpg.Connection
) -> None:
    for message in NO_HELLOS:
        worker = ScriptedWorker(still_node, ["work"])
        worker._connection._to_server.put_nowait(message)
        await worker._attended
        assert await connection.fetchval("SELECT count(*) FROM tickwork.worker") == 0, message[:200]
        assert await connection.fetchval("SELECT count(*) FROM tickwork.task") == 0, message[:200]


def _again(_: Run) -> object:
    return Hello(name="w", host="h", version="1", slots=1, credit=1, tasks=[TaskOffer("work", {})])


def _nan(_: Run) -> object:
    return Beat(sent=float("nan"), credit=1)


def _too_many(run: Run) -> object:
    outcome = Outcome(run.tenant, run.at, run.job, run.attempt, AttemptOutcome.COMPLETED, run.at, run.at)
    return Outcomes(1, [outcome] * 10_001)


def _unknown_kind(run: Run) -> object:
    return {
        "type": "Outcomes", "number": 1,
        "items": [[run.tenant, run.at, run.job, run.attempt, "exploded", 1, 1]],
    }  # fmt: skip


async def test_who_breaks_the_protocol_is_sent_away_and_may_come_back_with_what_it_holds(
    still_node: Node,
) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    (run,) = await _handed_out(still_node, worker)
    claim = Claim(run.tenant, run.at, run.job, run.attempt)
    token = worker.welcome.token
    for say in (_again, _nan, _too_many, _unknown_kind):
        worker._connection._to_server.put_nowait(msgspec.msgpack.encode(say(run)))
        await worker._attended
        assert not await still_node.step("renew")
        worker = ScriptedWorker(still_node, ["work"])
        await worker.greet(resume=token, holding=[claim])
        assert worker.welcome.forget == []
    await worker.complete(run, b"1")
    assert (await _only_execution(still_node)).status == "completed"


async def test_outcomes_of_attempts_that_nobody_knows_change_nothing(still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, ["work"])
    (run,) = await _handed_out(still_node, worker)
    strange = [
        Outcome(tenant, at, job, attempt, AttemptOutcome.COMPLETED, 1, 1, b"broken")
        for tenant, at, job, attempt in (
            (run.tenant, run.at, run.job, run.attempt + 1),
            (run.tenant, run.at, run.job, 2**62),
            (run.tenant, -(2**62), run.job, 1),
            (2**62, run.at, -1, -1),
        )
    ]
    await worker._report(strange)
    assert (await _only_execution(still_node)).status == "running"
