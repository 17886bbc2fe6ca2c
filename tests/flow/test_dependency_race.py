"""Graphs that grow while they run, on two nodes at once: nothing starts too early, and nothing is left waiting."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable

import asyncpg
import pytest

from tickwork.config import Settings
from tickwork.model.errors import Unavailable
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job import Dependency, JobRequest
from tickwork.model.public_ids import from_micros, job_id, parse_job_id
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
SEED = 20261116
NODES = 2
JOBS = 150  # that are created on each node
FINAL = Failure("Broken", "it broke", retry=False)


@pytest.fixture
async def nodes(settings: Settings, clock: SettableClock) -> AsyncIterator[list[Node]]:
    nodes = [Node(settings) for _ in range(NODES)]
    for node in nodes:
        await node.open()
    yield nodes
    for node in nodes:
        await node.stop()


class Graph:
    """What was asked for, and what was seen of it."""

    def __init__(self) -> None:
        self.parents: dict[int, list[int]] = {}
        self.completed: set[int] = set()
        self.early: list[int] = []

    def see(self, run: Run) -> None:
        if not self.completed.issuperset(self.parents.get(run.job, ())):
            self.early.append(run.job)


async def test_growing_graphs_on_two_nodes(nodes: list[Node], connection: asyncpg.Connection) -> None:
    chance = random.Random(SEED)  # noqa: S311 (a history that can be repeated, not a secret)
    graph = Graph()
    workers = [await ScriptedWorker.connect(node, ["work"]) for node in nodes]
    async with asyncio.TaskGroup() as tasks:  # one that fails ends the others, and the test with its error
        for node, worker in zip(nodes, workers, strict=True):
            tasks.create_task(_grow(node, graph, chance))
            tasks.create_task(_run(node, worker, graph, chance))
    assert graph.early == []
    assert await connection.fetchval("SELECT count(*) FROM tickwork.awaited") == 0


async def _grow(node: Node, graph: Graph, chance: random.Random) -> None:
    """One job after the other, after some of those that are there."""
    for _ in range(JOBS):
        parents = chance.sample(sorted(graph.parents), min(chance.randrange(4), len(graph.parents)))
        (view,) = await node.jobs.create(
            TENANT, [JobRequest(task="work", depends_on=[*map(job_id, parents)])]
        )
        graph.parents[parse_job_id(view.id)] = parents


async def _run(node: Node, worker: ScriptedWorker, graph: Graph, chance: random.Random) -> None:
    while len(graph.completed) < NODES * JOBS:
        await node.step("claim")
        runs = await worker.runs()
        for run in runs:
            graph.see(run)
        chance.shuffle(runs)
        for run in runs:
            if chance.random() < 0.1:
                await _tell(node, worker.fail(run, FINAL))
                await node.dead_letters.retry(TENANT, run.job, from_micros(run.at))
            else:
                graph.completed.add(run.job)  # before it is said: whoever sees the end may start at once
                await _tell(node, worker.report(run, AttemptOutcome.COMPLETED))
        await asyncio.sleep(0)


async def _tell(node: Node, telling: Awaitable[object]) -> None:
    """Creating a job that depends on this one and on one that waits for it can lock both in the opposite order. The
    node's loop tries again after such a deadlock, and so does this."""
    while True:
        try:
            await telling
        except Unavailable as error:
            if not isinstance(error.__cause__, asyncpg.DeadlockDetectedError):
                raise
            telling = node.step("record")
        else:
            return


async def test_any_outcome_of_parents_that_end_together(nodes: list[Node]) -> None:
    """Two hundred times two parents on two nodes at the same moment: the child always goes on."""
    workers = [await ScriptedWorker.connect(node, ["work"], credit=200) for node in nodes]
    pairs = []
    for number in range(200):
        either: list[str | Dependency] = [
            Dependency("@a", on="any outcome"),
            Dependency("@b", on="any outcome"),
        ]
        made = await nodes[number % 2].jobs.create_many(
            TENANT,
            [
                JobRequest(task="work", ref="a"),
                JobRequest(task="work", ref="b"),
                JobRequest(task="work", depends_on=either),
            ],
        )
        pairs.append(made)
    held: list[dict[int, Run]] = [{}, {}]
    while sum(map(len, held)) < 400:
        for node, worker, runs in zip(nodes, workers, held, strict=True):
            await node.step("claim")
            runs.update({run.job: run for run in await worker.runs()})
    await asyncio.gather(
        *(worker.report_all([*runs.values()]) for worker, runs in zip(workers, held, strict=True))
    )
    children = {parse_job_id(made[2].id) for made in pairs}
    started: set[int] = set()
    for node, worker in zip(nodes, workers, strict=True):
        await node.step("claim")
        started |= {run.job for run in await worker.runs()}
    assert started == children
