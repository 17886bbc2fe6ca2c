"""Graphs by chance, while nodes and workers are killed: every node of every graph ends as the model says."""

import asyncio
import os
from collections.abc import Sequence
from random import Random

import asyncpg
import msgspec

from support.cluster import Cluster, Program
from support.graph_model import Node, graph_by_chance, outcomes, payload_of, request_of
from support.waiting import eventually
from tickwork.client.async_client import AsyncClient
from tickwork.model.errors import Unavailable
from tickwork.model.job import RetryRequest
from tickwork.model.public_ids import parse_job_id

_SEED = 20261118
_RETRY = RetryRequest(max_attempts=4, initial="200ms", max="1s")
_ENDED_WITHIN = 240.0  # seconds; a bound for a busy machine, not a promise
_STATES = """
    SELECT job_id, status::text, reason, ready_at = 'infinity' AS waits FROM tickwork.execution
    WHERE job_id = ANY($1::bigint[])"""


async def create(client: AsyncClient, chance: Random, graph: Sequence[Node], number: int) -> list[int]:
    """In one request, which is repeated until it is answered, and has an effect only once."""
    names = [f"@n{place}" for place in range(len(graph))]
    requests = [
        request_of(
            node, place, names, key=f"g{number}-{place}", if_exists="keep", task="graph step", retry=_RETRY,
            payload={**payload_of(node), "seconds": chance.choice((0.0, 0.1, 0.5))},
        )
        for place, node in enumerate(graph)
    ]  # fmt: skip
    while True:
        try:
            made = await client.create_jobs(requests)
        except Unavailable:
            await asyncio.sleep(0.1)
        else:
            return [parse_job_id(job.id) for job in made]


async def kill_some(programs: Sequence[Program], chance: Random, kills: int) -> None:
    """One at a time, at any moment; it is back a moment later, as a supervisor does it."""
    for _ in range(kills):
        await asyncio.sleep(chance.uniform(0.0, 0.8))
        program = chance.choice(programs)
        program.kill()
        await asyncio.sleep(chance.uniform(0.0, 0.3))
        await program.start()


async def states(connection: asyncpg.Connection, jobs: Sequence[int]) -> list[str]:
    found = {row["job_id"]: row for row in await connection.fetch(_STATES, jobs)}
    return [_state(found[job]) for job in jobs]


def _state(row: asyncpg.Record) -> str:
    if row["status"] == "skipped":
        return "not taken" if row["reason"].startswith("not taken") else row["reason"]
    return "blocked" if row["status"] == "pending" and row["waits"] else row["status"]


async def test_every_node_of_a_graph_ends_as_the_model_says_whoever_is_killed(
    processes: Cluster, connection: asyncpg.Connection, long: bool
) -> None:
    chance = Random(int(os.environ.get("TICKWORK_CHAOS_SEED") or _SEED))  # noqa: S311 (to be repeated)
    graphs, kills, rounds = (12, 20, 25) if long else (8, 6, 1)
    await processes.start(servers=3, workers=2, slots=20)
    for begin in range(0, graphs * rounds, graphs):
        chosen = [graph_by_chance(chance, most=10) for _ in range(graphs)]
        killing = asyncio.create_task(kill_some(processes.programs, chance, kills))
        async with processes.client(0) as client:
            made = [await create(client, chance, graph, number) for number, graph in enumerate(chosen, begin)]
        await killing
        for graph, jobs in zip(chosen, made, strict=True):
            await _end_as(connection, jobs, outcomes(graph))
    assert await connection.fetchval("SELECT count(*) FROM tickwork.awaited WHERE verdict IS NOT NULL") == 0
    repeated = await connection.fetchval(
        "SELECT count(*) FROM tickwork.job GROUP BY element_of, element_at, element_number HAVING count(*) > 1 "
        "AND element_of IS NOT NULL"
    )
    assert repeated is None


async def _end_as(connection: asyncpg.Connection, jobs: Sequence[int], expected: Sequence[str]) -> None:
    async def look() -> bool:
        return await states(connection, jobs) == list(expected)

    try:
        await eventually(look, within=_ENDED_WITHIN, what=f"the end of {msgspec.json.encode(jobs).decode()}")
    finally:
        assert await states(connection, jobs) == list(expected)
