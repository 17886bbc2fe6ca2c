"""Tasks that are declared ahead, disabled and retired, and what becomes of their jobs."""

from datetime import timedelta
from typing import Any

import pytest

from support.node_steps import run_due
from tickwork.model.access import Caller, Scope
from tickwork.model.errors import Conflict, Invalid, NotFound
from tickwork.model.execution import ExecutionFilter
from tickwork.model.job import JobRequest, JobStatus
from tickwork.model.public_ids import parse_execution_id
from tickwork.model.task import RetireRequest, TaskDeclaration, TaskDefaults
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
OPS = Caller(TENANT, "default", 1, frozenset({Scope.ADMIN}), key_name="ops")
SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


async def create(node: Node, **fields: Any) -> None:
    await node.jobs.create(TENANT, [JobRequest(**{"task": "work", **fields})])


async def disable(node: Node, reason: str | None = None) -> None:
    await node.tasks.disable(OPS, "work", reason)
    await node.step("read dispatch settings")


async def test_a_declared_task_takes_jobs_and_checks_them(clock: SettableClock, still_node: Node) -> None:
    declaration = TaskDeclaration(parameters=SCHEMA, defaults=TaskDefaults(queue="mail"))
    declared = await still_node.tasks.declare(TENANT, "work", declaration)
    assert (declared.state, declared.offered_at, declared.workers) == ("active", None, [])
    with pytest.raises(Invalid, match=r"payload\.to"):
        await create(still_node)
    job = await still_node.jobs.create_one(TENANT, JobRequest(task="work", payload={"to": "a"}))
    assert job.queue == "mail"
    worker = await ScriptedWorker.connect(still_node, {"work": SCHEMA})
    assert (await still_node.tasks.get(TENANT, "work")).offered_at is not None
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_what_a_live_worker_says_of_a_task_counts(clock: SettableClock, still_node: Node) -> None:
    worker = await ScriptedWorker.connect(still_node, {"work": SCHEMA})
    with pytest.raises(Conflict, match="what they say counts"):
        await still_node.tasks.declare(TENANT, "work", TaskDeclaration(parameters={"type": "array"}))
    await still_node.tasks.declare(TENANT, "work", TaskDeclaration(parameters=SCHEMA))  # the same
    await worker.leave_silently()
    await clock.advance(timedelta(minutes=1))
    changed = await still_node.tasks.declare(TENANT, "work", TaskDeclaration(parameters={"type": "array"}))
    assert changed.parameters == {"type": "array"}


@pytest.mark.parametrize(
    ("name", "declaration", "path"),
    [
        ("http", TaskDeclaration(), "name"),
        ("a\nb", TaskDeclaration(), "name"),
        ("work", TaskDeclaration(parameters={"type": "nonsense"}), "parameters"),
        ("work", TaskDeclaration(defaults=TaskDefaults(timeout="soon")), "defaults.timeout"),
    ],
)
async def test_a_wrong_declaration_names_the_field(
    still_node: Node, name: str, declaration: TaskDeclaration, path: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await still_node.tasks.declare(TENANT, name, declaration)
    assert [error.path for error in refused.value.errors] == [path]


async def test_executions_of_a_disabled_task_wait_and_say_who_disabled_it(
    still_node: Node, worker: ScriptedWorker
) -> None:
    await disable(still_node, "sends everything twice")
    await create(still_node)
    await run_due(still_node)
    assert await worker.runs() == []
    (waiting,) = (await still_node.history.list(TENANT, ExecutionFilter(), 10)).items
    reasons = await still_node.reasons.of(TENANT, *parse_execution_id(waiting.id))
    assert [cause.kind for cause in reasons.causes] == ["task_disabled"]
    assert "was disabled by ops at " in reasons.summary
    assert "sends everything twice" in reasons.summary
    await still_node.tasks.enable(TENANT, "work")
    await still_node.step("read dispatch settings")
    await run_due(still_node)
    assert len(await worker.runs()) == 1


async def test_a_due_time_of_a_disabled_task_is_not_handed_out_while_firing(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker
) -> None:
    await create(still_node, schedule="every 1m")
    await disable(still_node)
    await clock.advance(timedelta(minutes=1))
    await worker.beat()
    await run_due(still_node)
    assert await worker.runs() == []


async def test_other_nodes_and_new_nodes_know_a_disabled_task(
    clock: SettableClock, nodes: list[Node]
) -> None:
    worker = await ScriptedWorker.connect(nodes[1], ["work"])
    await nodes[0].tasks.disable(OPS, "work", None)
    await nodes[1].step("read dispatch settings")
    await create(nodes[0])
    await run_due(nodes[1])
    assert await worker.runs() == []


async def test_a_retired_task_gets_no_new_jobs_and_names_its_replacement(
    clock: SettableClock, still_node: Node, worker: ScriptedWorker
) -> None:
    await create(still_node, key="old", schedule="every 1m")
    await still_node.tasks.retire(OPS, "work", RetireRequest(replacement="mail.send"))
    with pytest.raises(Invalid) as refused:
        await create(still_node)
    assert refused.value.errors[0].hint == "use 'mail.send' instead"
    await still_node.jobs.patch(TENANT, 1, {"tags": ["x"]})  # what exists may be edited
    await create(still_node, key="old", if_exists="replace", schedule="every 1m")
    await clock.advance(timedelta(minutes=1))
    await worker.beat()
    await run_due(still_node)
    assert len(await worker.runs()) == 1
    await still_node.tasks.retire(OPS, "work", RetireRequest(undo=True))
    await create(still_node)


async def test_retiring_may_cancel_the_jobs_of_the_task_and_no_others(
    clock: SettableClock, still_node: Node
) -> None:
    await ScriptedWorker.offer_only(still_node, ["work", "work.other"])
    for task in ("work", "work", "work.other"):
        await create(still_node, task=task, schedule="every 1h")
    await still_node.jobs.pause(TENANT, 2)
    await still_node.tasks.retire(OPS, "work", RetireRequest(jobs="cancel"))
    while await still_node.step("index jobs"):
        pass
    await still_node.step("cancel jobs of retired tasks")
    states = [(await still_node.jobs.get(TENANT, job)).status for job in (1, 2, 3)]
    assert states == [JobStatus.CANCELLED, JobStatus.CANCELLED, JobStatus.ACTIVE]
    await clock.advance(timedelta(minutes=2))
    await still_node.step("cancel jobs of retired tasks")
    assert await still_node._database.fetch("SELECT FROM tickwork.task WHERE cancels_jobs") == []


async def test_an_unknown_task_can_be_neither_disabled_nor_retired(still_node: Node) -> None:
    with pytest.raises(NotFound):
        await still_node.tasks.disable(OPS, "nothing", None)
    with pytest.raises(NotFound):
        await still_node.tasks.retire(OPS, "nothing", RetireRequest())
