"""Jobs that run for each element of a list that a parent returned."""

import asyncio
from datetime import timedelta
from typing import Any

import asyncpg
import msgspec
import pytest

from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.errors import Invalid, Unavailable
from tickwork.model.execution import ExecutionFilter, ExecutionView
from tickwork.model.for_each import ForEach
from tickwork.model.job import Dependency, JobRequest
from tickwork.model.public_ids import parse_execution_id, parse_job_id
from tickwork.model.queue import QueueSettings
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


def step(ref: str, *parents: str | Dependency, **fields: Any) -> JobRequest:
    return JobRequest(task="work", ref=ref, depends_on=list(parents), **fields)


def each_of(ref: str, path: str = "files", into: str = "file") -> Dependency:
    return Dependency(f"@{ref}", for_each=ForEach(path, into))


async def create(node: Node, *steps: JobRequest) -> list[int]:
    return [parse_job_id(job.id) for job in await node.jobs.create_many(TENANT, list(steps))]


async def handed_out(node: Node, worker: ScriptedWorker) -> list[Run]:
    while await node.step("fan out"):
        pass
    await run_due(node)
    return await worker.runs()


async def only(node: Node, worker: ScriptedWorker) -> Run:
    (run,) = await handed_out(node, worker)
    return run


async def only_fired(node: Node, worker: ScriptedWorker) -> Run:
    await run_due(node)
    (run,) = await worker.runs()
    return run


async def the_execution(node: Node, job: int) -> ExecutionView:
    (execution,) = (await node.history.list(TENANT, ExecutionFilter(job=job), 10)).items
    return execution


def files(run: Run) -> Any:
    return msgspec.json.decode(run.payload)


async def test_runs_for_each_element_and_what_comes_after_gets_all_results_in_order(
    still_node: Node, worker: ScriptedWorker
) -> None:
    _, resize, join = await create(
        still_node,
        step("list"),
        step("resize", each_of("list"), payload={"width": 9}),
        step("join", "@resize"),
    )
    await worker.complete(await only(still_node, worker), b'{"files": ["a", "b", {"c": 1}]}')
    runs = await handed_out(still_node, worker)
    assert [files(run) for run in sorted(runs, key=lambda run: run.job)] == [
        {"width": 9, "file": "a"},
        {"width": 9, "file": "b"},
        {"width": 9, "file": {"c": 1}},
    ]
    assert len({run.job for run in runs}) == 3
    assert (await the_execution(still_node, resize)).waiting_for == "dependency"
    for run in reversed(runs):
        assert (await the_execution(still_node, join)).waiting_for == "dependency"
        await worker.complete(run, msgspec.json.encode(files(run)["file"]))
    last = await only(still_node, worker)
    assert last.job == join
    (outcome,) = read_outcomes(last.parents)
    assert (outcome.status, outcome.result) == ("completed", ["a", "b", {"c": 1}])


async def test_an_empty_list_completes_at_once(still_node: Node, worker: ScriptedWorker) -> None:
    _, resize, join = await create(
        still_node, step("list"), step("resize", each_of("list", "")), step("join", "@resize")
    )
    await worker.complete(await only(still_node, worker), b"[]")
    assert (await only(still_node, worker)).job == join
    execution = await the_execution(still_node, resize)
    assert (execution.status, bytes(execution.result)) == ("completed", b"[]")


async def test_a_failed_element_blocks_what_comes_after_until_it_is_retried(
    still_node: Node, worker: ScriptedWorker
) -> None:
    _, resize, join, final = await create(
        still_node,
        step("list"),
        step("resize", each_of("list")),
        step("join", "@resize"),
        step("final", Dependency("@resize", "any outcome")),
    )
    await worker.complete(await only(still_node, worker), b'{"files": [1, 2]}')
    first, second = await handed_out(still_node, worker)
    await worker.fail(first, FINAL)
    await worker.complete(second)
    assert (await only(still_node, worker)).job == final
    blocked = await still_node.history.get(
        TENANT, *parse_execution_id((await the_execution(still_node, join)).id)
    )
    assert blocked.blocked_by is not None
    element = await the_execution(still_node, first.job)
    assert blocked.blocked_by.execution_id == element.id
    await still_node.dead_letters.retry(TENANT, *parse_execution_id(element.id))
    await worker.complete(await only(still_node, worker))
    assert (await only(still_node, worker)).job == join
    assert bytes((await the_execution(still_node, resize)).result) == b"[null,null]"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (b'{"files": "a"}', "files is not a list"),
        (b"{}", "the result has no files"),
        (None, "parent j1 returned nothing"),
        (
            b'{"files": [%s]}' % b",".join([b"1"] * 10_001),
            "files has 10,001 elements; at most 10,000 are allowed",
        ),
    ],
)
async def test_what_is_no_list_fails_it_with_the_reason(
    still_node: Node, worker: ScriptedWorker, result: bytes | None, reason: str
) -> None:
    _, resize = await create(still_node, step("list"), step("resize", each_of("list")))
    await worker.complete(await only(still_node, worker), result)
    assert await handed_out(still_node, worker) == []
    execution = await the_execution(still_node, resize)
    assert (execution.status, execution.reason) == ("failed", reason)
    await still_node.dead_letters.retry(TENANT, *parse_execution_id(execution.id))
    assert await handed_out(still_node, worker) == []
    assert (await the_execution(still_node, resize)).reason == reason


async def test_a_connection_that_dies_on_the_way_leaves_nothing_and_each_element_is_made_once(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    await create(still_node, step("list"), step("resize", each_of("list")))
    await worker.complete(await only_fired(still_node, worker), b'{"files": [1, 2, 3]}')
    await connection.execute("""
        CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';
        CREATE TRIGGER die AFTER INSERT ON tickwork.awaited FOR EACH STATEMENT EXECUTE FUNCTION die();
    """)
    with pytest.raises(Unavailable):
        await still_node.step("fan out")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job") == 2
    await connection.execute("DROP TRIGGER die ON tickwork.awaited")
    for _ in range(3):
        await still_node.step("fan out")
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job WHERE element_of IS NOT NULL") == 3
    assert len(await handed_out(still_node, worker)) == 3


async def test_of_nodes_that_fan_out_at_once_one_makes_the_elements(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection, settings: Settings
) -> None:
    others = [Node(settings) for _ in range(2)]
    for other in others:
        await other.open()
    await create(still_node, step("list"), step("resize", each_of("list")))
    await worker.complete(await only_fired(still_node, worker), b'{"files": [1, 2, 3]}')
    await asyncio.gather(*(node.step("fan out") for node in (still_node, *others)))
    assert await connection.fetchval("SELECT count(*) FROM tickwork.job WHERE element_of IS NOT NULL") == 3
    for other in others:
        await other.stop()


async def test_waits_while_its_queue_has_no_room_for_the_elements(
    still_node: Node, clock: SettableClock, worker: ScriptedWorker
) -> None:
    await still_node.queues.set(TENANT, "small", QueueSettings(max_backlog=2))
    blocker = await create(still_node, *[step(f"x{number}", queue="small") for number in range(2)])
    _, resize = await create(still_node, step("list"), step("resize", each_of("list"), queue="small"))
    await still_node.queues.pause(TENANT, "small")
    await worker.complete(await only(still_node, worker), b'{"files": [1]}')
    assert await handed_out(still_node, worker) == []
    execution = await the_execution(still_node, resize)
    assert execution.status == "pending"
    await still_node.queues.resume(TENANT, "small")
    assert {run.job for run in await handed_out(still_node, worker)} == {*blocker}
    await later(clock, worker, timedelta(seconds=6))
    assert files(await only(still_node, worker)) == {"file": 1}


async def test_fans_out_in_each_round(still_node: Node, clock: SettableClock, worker: ScriptedWorker) -> None:
    _, resize, join = await create(
        still_node,
        step("list", schedule="every 1m", overlap="allow"),
        step("resize", each_of("list", "")),
        step("join", "@resize"),
    )
    joined = []
    for number in range(1, 4):
        await later(clock, worker, timedelta(minutes=1))
        await worker.complete(await only(still_node, worker), msgspec.json.encode(list(range(number))))
        for run in await handed_out(still_node, worker):
            await worker.complete(run, run.payload)
        last = await only(still_node, worker)
        assert last.job == join
        joined.append(len(read_outcomes(last.parents)[0].result))
        await worker.complete(last)
    assert joined == [1, 2, 3]
    graph = await still_node.jobs.graph(TENANT, join, 100)
    elements = [job for job in graph.items if job.element_of == f"j{resize}"]
    assert sorted(job.name or "" for job in elements) == ["work [0]", "work [1]", "work [2]"]


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        (step("b", Dependency("@a", "failure", for_each=ForEach())), "[1].depends_on[0].for_each"),
        (step("b", Dependency("@a", for_each=ForEach()), payload=[1]), "[1].payload"),
        (
            step("b", Dependency("@a", for_each=ForEach()), payload={"item": 1}),
            "[1].depends_on[0].for_each.as",
        ),
    ],
)
async def test_a_fan_out_that_cannot_be_is_refused(
    still_node: Node, worker: ScriptedWorker, request_: JobRequest, path: str
) -> None:
    with pytest.raises(Invalid) as raised:
        await create(still_node, step("a"), request_)
    assert [error.path for error in raised.value.errors] == [path]
