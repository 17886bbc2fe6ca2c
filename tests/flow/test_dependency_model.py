"""Graphs by chance with failures, branches, fan-out and retries, against a model: the same outcome for every node."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random

import asyncpg
import pytest

from support.graph_model import Node as GraphNode
from support.graph_model import graph_by_chance, outcomes, request_of
from support.node_steps import later, run_due
from tickwork.config import Settings
from tickwork.model.execution import AttemptOutcome
from tickwork.model.job_graph import JobGraph
from tickwork.model.public_ids import job_id, parse_job_id
from tickwork.model.worker_protocol import Failure, Run
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
GRAPHS = 12  # at once, by seed
FINAL = Failure("Broken", "it broke", retry=False)
AGAIN = Failure("Busy", "later", retry_after=1.0)


class Cluster:
    """Two nodes and a worker, with what each job is to do."""

    def __init__(
        self, nodes: Sequence[Node], worker: ScriptedWorker, clock: SettableClock, seed: int
    ) -> None:
        self.chance = Random(seed)  # noqa: S311 (a test that can be repeated)
        self._nodes = nodes
        self._worker = worker
        self._clock = clock
        self._scripts: dict[int, GraphNode] = {}

    async def create(self, graph: Sequence[GraphNode]) -> list[int]:
        """In one request, or one after the other while those before may run."""
        if self.chance.random() < 0.5:
            return await self._request(graph, [f"@n{place}" for place in range(len(graph))], first=0)
        names: list[str] = []
        for place, each in enumerate(graph):
            (job,) = await self._request([each], names, first=place)
            names.append(job_id(job))
            if self.chance.random() < 0.2:
                await self.run_all()
        return [parse_job_id(name) for name in names]

    async def _request(self, graph: Sequence[GraphNode], names: Sequence[str], first: int) -> list[int]:
        requests = [request_of(each, place, names) for place, each in enumerate(graph, first)]
        made = await self.chance.choice(self._nodes).jobs.create_many(TENANT, requests)
        jobs = [parse_job_id(job.id) for job in made]
        self._scripts |= zip(jobs, graph, strict=True)
        return jobs

    async def run_all(self) -> None:
        """Run what can run, in any order, some of it reported twice."""
        running: list[Run] = []
        idle = 0
        while idle < 3:
            for node in self._nodes:
                await node.step("fan out")
            await run_due(self._nodes[0])
            running += await self._worker.runs()
            idle = 0 if running else idle + 1
            self.chance.shuffle(running)
            for _ in range(min(len(running), self.chance.randint(1, 6))):
                run = running.pop()
                for _ in range(self.chance.choice((1, 1, 2))):
                    await end(self._worker, run, await self._script_of(run.job))
            await later(self._clock, self._worker, timedelta(seconds=2))

    async def _script_of(self, job: int) -> GraphNode:
        """An element does what its job says."""
        if job not in self._scripts:
            (element,) = [each for each in (await self._graph(job)).items if each.job_id == job_id(job)]
            self._scripts[job] = self._scripts[parse_job_id(element.element_of or "")]
        return self._scripts[job]

    async def _graph(self, job: int) -> JobGraph:
        return await self._nodes[0].jobs.graph(TENANT, job, 1)


async def end(worker: ScriptedWorker, run: Run, node: GraphNode) -> None:
    if run.attempt <= node.retries:
        await worker.fail(run, AGAIN)
    elif node.script == "fails":
        await worker.fail(run, FINAL)
    elif node.script == "is cancelled":
        await worker.report(run, AttemptOutcome.CANCELLED, reason="enough")
    else:
        await worker.complete(run, node.result)


async def states(connection: asyncpg.Connection, jobs: Sequence[int]) -> list[str]:
    rows = await connection.fetch(
        "SELECT job_id, status::text, reason FROM tickwork.execution ORDER BY scheduled_for"
    )
    found = {row["job_id"]: row for row in rows}
    return [_state(found[job]["status"], found[job]["reason"]) for job in jobs]


def _state(status: str, reason: str | None) -> str:
    if status == "skipped":
        return "not taken" if (reason or "").startswith("not taken") else f"skipped: {reason}"
    return "blocked" if status == "pending" else status


@pytest.mark.parametrize("seed", range(6))
async def test_every_node_of_a_graph_ends_as_the_model_says(
    settings: Settings, clock: SettableClock, still_node: Node, connection: asyncpg.Connection, seed: int
) -> None:
    other = Node(settings)
    await other.open()
    worker = await ScriptedWorker.connect(still_node, ["work"], credit=20_000)
    cluster = Cluster([still_node, other], worker, clock, seed)
    graphs = [graph_by_chance(cluster.chance, most=12) for _ in range(GRAPHS)]
    made = [await cluster.create(graph) for graph in graphs]
    await cluster.run_all()
    assert [await states(connection, jobs) for jobs in made] == [outcomes(graph) for graph in graphs]
    assert await connection.fetchval("SELECT count(*) FROM tickwork.awaited WHERE verdict IS NOT NULL") == 0
    await other.stop()
