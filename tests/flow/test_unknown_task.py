"""Jobs of tasks that nobody has offered yet: they wait, and are checked when the task becomes known."""

from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import run_due
from tickwork.model.dead_letter import DeadLetterFilter
from tickwork.model.errors import Conflict, Invalid
from tickwork.model.execution import ExecutionFilter, ExecutionStatus, ExecutionView
from tickwork.model.job import JobRequest, JobView
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.model.task import TaskDeclaration
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}


async def create(node: Node, payload: Any = None, **fields: Any) -> JobView:
    request = JobRequest(task="mail", unknown_task="wait", payload=payload or {"to": "a"}, **fields)
    return await node.jobs.create_one(TENANT, request)


async def executions(node: Node) -> list[ExecutionView]:
    """Oldest first."""
    return (await node.history.list(TENANT, ExecutionFilter(), 500)).items[::-1]


async def why(node: Node, execution: ExecutionView) -> str:
    return (await node.reasons.of(TENANT, *parse_execution_id(execution.id))).summary


async def check(node: Node) -> None:
    while await node.step("check jobs of new tasks"):
        pass


async def test_is_an_error_unless_the_job_asks_to_wait(still_node: Node) -> None:
    with pytest.raises(Invalid) as refused:
        await still_node.jobs.create(TENANT, [JobRequest(task="mail")])
    (error,) = refused.value.errors
    assert (error.path, '"unknown_task": "wait"' in (error.hint or "")) == ("task", True)


async def test_waits_for_the_task_and_runs_when_a_worker_offers_it(
    clock: SettableClock, still_node: Node
) -> None:
    assert (await create(still_node)).unknown_task == "wait"
    await run_due(still_node)
    (waiting,) = await executions(still_node)
    assert waiting.waiting_for == "worker"
    assert "No worker has offered the task mail yet" in await why(still_node, waiting)
    worker = await ScriptedWorker.connect(still_node, {"mail": SCHEMA})
    await run_due(still_node)
    assert await worker.runs() == []  # not before its payload is checked
    assert "about to be checked" in await why(still_node, waiting)
    await check(still_node)
    await run_due(still_node)
    (run,) = await worker.runs()
    assert run.payload == b'{"to":"a"}'


async def test_gets_the_defaults_of_the_task(clock: SettableClock, still_node: Node) -> None:
    job = await create(still_node, timeout="2m")
    worker = ScriptedWorker(still_node, {"mail": SCHEMA})
    await worker.greet(defaults={"queue": "mail", "priority": "high", "timeout": "1m"})
    await check(still_node)
    shown = await still_node.jobs.get(TENANT, parse_job_id(job.id))
    assert (shown.queue, shown.priority, shown.timeout) == ("mail", "high", 120.0)
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_payload_that_does_not_fit_fails_with_the_reason_and_delays_no_other(
    clock: SettableClock, still_node: Node
) -> None:
    await create(still_node, {"too": "b"})
    await create(still_node)
    await create(still_node, {"to": 5})
    worker = await ScriptedWorker.connect(still_node, {"mail": SCHEMA})
    await check(still_node)
    await run_due(still_node)
    assert len(await worker.runs()) == 1
    first, _, third = await executions(still_node)
    assert (first.status, third.status) == ("failed", "failed")
    assert "does not fit its task: payload.too is not a parameter of this task; payload.to is required" in (
        first.reason or ""
    )
    assert len((await still_node.dead_letters.list(TENANT, DeadLetterFilter(), 10)).items) == 2


async def test_a_payload_that_does_not_fit_can_be_edited_before_it_is_due(
    clock: SettableClock, still_node: Node
) -> None:
    job = await create(still_node, {"too": "b"}, schedule="in 1h")
    worker = await ScriptedWorker.connect(still_node, {"mail": SCHEMA})
    await check(still_node)
    (waiting,) = await executions(still_node)
    assert waiting.status == "pending"
    assert "it fails when it is due, unless the job is edited" in await why(still_node, waiting)
    await still_node.jobs.patch(TENANT, parse_job_id(job.id), {"payload": {"to": "b", "too": None}})
    await clock.advance(timedelta(hours=1))
    await check(still_node)
    await worker.beat()
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_is_checked_again_when_the_task_is_described_anew(
    clock: SettableClock, still_node: Node
) -> None:
    await create(still_node, {"to": 5}, schedule="in 1h")
    await still_node.tasks.declare(TENANT, "mail", TaskDeclaration(parameters=SCHEMA))
    await check(still_node)
    (waiting,) = await executions(still_node)
    assert "does not fit the task mail" in await why(still_node, waiting)
    await still_node.tasks.declare(TENANT, "mail", TaskDeclaration(parameters={}))
    await check(still_node)
    assert "does not fit" not in await why(still_node, waiting)


async def test_a_recurring_job_runs_at_its_due_times_once_its_task_is_known(
    clock: SettableClock, still_node: Node
) -> None:
    await create(still_node, schedule="every 1m", overlap="allow")
    await clock.advance(timedelta(minutes=1))
    await run_due(still_node)
    worker = await ScriptedWorker.connect(still_node, {"mail": SCHEMA})
    await check(still_node)
    await run_due(still_node)
    assert len(await worker.runs()) == 1
    await clock.advance(timedelta(minutes=1))
    await worker.beat()
    await run_due(still_node)
    assert len(await worker.runs()) == 1  # with no check in between


async def test_a_paused_and_a_cancelled_job_stay_so(clock: SettableClock, still_node: Node) -> None:
    paused, cancelled = await create(still_node), await create(still_node)
    await still_node.jobs.pause(TENANT, parse_job_id(paused.id))
    await still_node.jobs.cancel(TENANT, parse_job_id(cancelled.id))
    worker = await ScriptedWorker.connect(still_node, {"mail": SCHEMA})
    await check(still_node)
    await run_due(still_node)
    assert await worker.runs() == []
    await still_node.jobs.resume(TENANT, parse_job_id(paused.id))
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_job_that_others_keep_changing_is_checked_later(
    clock: SettableClock, still_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it forgotten, it would wait for ever."""
    await create(still_node)
    worker = await ScriptedWorker.connect(still_node, {"mail": SCHEMA})

    async def is_busy(_tenant_id: int, _job: int) -> None:
        raise Conflict("other requests keep changing the same jobs: try again")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(still_node.jobs, "check_again", is_busy)
        await check(still_node)
    await check(still_node)
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_two_nodes_check_the_same_jobs_without_harm(clock: SettableClock, nodes: list[Node]) -> None:
    for number in range(5):
        await create(nodes[0], {"to": str(number)} if number % 2 else {"to": number})
    worker = await ScriptedWorker.connect(nodes[0], {"mail": SCHEMA})
    for node in (*nodes, *nodes):
        await check(node)
    await run_due(nodes[0])
    assert len(await worker.runs()) == 2
    assert [each.status for each in await executions(nodes[0])].count(ExecutionStatus.FAILED) == 3
