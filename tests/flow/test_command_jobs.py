"""Jobs with commands go to workers that allow them, and what they used is kept with their attempts."""

from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from support.node_steps import run_due
from tickwork.model.errors import Invalid
from tickwork.model.execution import AttemptOutcome, AttemptView, ExecutionFilter
from tickwork.model.job import JobRequest, RetryRequest
from tickwork.model.process_limits import Usage, UsageView
from tickwork.model.public_ids import from_micros, parse_job_id
from tickwork.model.why_waiting import Why
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1


@pytest.fixture
async def node(clock: SettableClock, still_node: Node) -> Node:
    return still_node


async def submit(node: Node, *command: str, **fields: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(command=list(command), **fields)])


async def why(node: Node) -> Why:
    (waiting,) = (await node.history.list(TENANT, ExecutionFilter(), 10)).items
    return await node.reasons.of(TENANT, parse_job_id(waiting.job_id), waiting.scheduled_for)


async def test_goes_only_to_a_worker_that_allows_its_program(node: Node) -> None:
    tasks = await ScriptedWorker.connect(node, ["work"])
    other = await ScriptedWorker.connect(node, [], commands=["report-*"])
    able = await ScriptedWorker.connect(node, [], commands=["backup-*"])
    await submit(node, "backup-db", "--full")
    await run_due(node)
    (run,) = await able.runs()
    assert (run.task, run.target) == ("command", b'{"command":["backup-db","--full"]}')
    assert (await tasks.runs(), await other.runs()) == ([], [])


async def test_waits_for_a_worker_that_allows_it_and_says_so(node: Node) -> None:
    await ScriptedWorker.connect(node, [], commands=["report-*"], name="box-1")
    await submit(node, "backup-db")
    await run_due(node)
    told = await why(node)
    assert [cause.kind for cause in told.causes] == ["not_allowed"]
    assert "no live worker allows the program backup-db" in told.causes[0].message
    assert "box-1 allows report-*" in told.causes[0].message
    assert told.expected_start_reason == "when a worker that allows the program connects"
    able = await ScriptedWorker.connect(node, [], commands=["backup-*"])
    await run_due(node)
    assert len(await able.runs()) == 1


async def test_says_if_nobody_runs_commands_at_all(node: Node) -> None:
    await ScriptedWorker.connect(node, ["work"])
    await submit(node, "backup-db")
    await run_due(node)
    assert "start one with --allow-command backup-db" in (await why(node)).summary


async def test_what_attempts_used_is_kept_with_them(node: Node) -> None:
    worker = await ScriptedWorker.connect(node, [], commands=["backup-*"])
    await submit(node, "backup-db", retry=RetryRequest(initial=0))
    await run_due(node)
    (first,) = await worker.runs()
    await worker.log(first, "hello", usage=Usage(1.5, 1000))
    await worker.log(first, usage=Usage(9.0, 9000))  # a repeat after a lost answer changes nothing
    await worker.fail(first, Failure("Exit1", "exited with code 1"))
    await run_due(node)
    (second,) = await worker.runs()
    await worker.log(second, usage=Usage(0.25, 2000))
    await worker.complete(second)
    attempts = await attempts_of(node, first)
    assert [(each.outcome, each.usage) for each in attempts] == [
        (AttemptOutcome.FAILED, UsageView(1.5, 1000)),
        (AttemptOutcome.COMPLETED, UsageView(0.25, 2000)),
    ]


@pytest.mark.parametrize("usage", [Usage(-1.0, 0), Usage(0.0, -1), Usage(float("nan"), 0), Usage(1.0, 2**63)])
async def test_what_cannot_be_is_not_kept(node: Node, usage: Usage) -> None:
    worker = await ScriptedWorker.connect(node, [], commands=["backup-*"])
    await submit(node, "backup-db")
    await run_due(node)
    (run,) = await worker.runs()
    await worker.log(run, "hello", usage=usage)
    await worker.complete(run)
    assert [each.usage for each in await attempts_of(node, run)] == [None]


async def test_what_attempts_used_goes_with_the_history(
    node: Node, clock: SettableClock, connection: asyncpg.Connection
) -> None:
    worker = await ScriptedWorker.connect(node, [], commands=["backup-*"])
    await submit(node, "backup-db")
    await run_due(node)
    (run,) = await worker.runs()
    await worker.log(run, usage=Usage(1.0, 1))
    await worker.complete(run)
    assert await count_usage(connection) == 1
    await clock.advance(timedelta(days=100))
    while await node.step("maintain partitions"):
        pass
    assert await count_usage(connection) == 0


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"task": "work", "command": ["a"]}, "task"),
        ({"command": ["./a"]}, "command[0]"),
        ({"command": ["a"], "env": {"LD_PRELOAD": "x"}}, "env.LD_PRELOAD"),
        ({"command": ["a"], "env": {"API_TOKEN": "***"}}, "env.API_TOKEN"),
        ({"task": "command"}, "task"),
    ],
)
async def test_what_is_wrong_is_named(node: Node, fields: dict[str, Any], path: str) -> None:
    with pytest.raises(Invalid) as refused:
        await node.jobs.create(TENANT, [JobRequest(**fields)])
    assert path in [error.path for error in refused.value.errors]


async def attempts_of(node: Node, run: Run) -> list[AttemptView]:
    return await node.history.attempts(run.tenant, run.job, from_micros(run.at))


async def count_usage(connection: asyncpg.Connection) -> int:
    return int(await connection.fetchval("SELECT count(*) FROM tickwork.process_usage"))
