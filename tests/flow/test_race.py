"""Edits, pauses and deletions raced against firing, in many interleavings on three nodes.

The clock stands just before a due time that is already being fired ahead. Whatever the order in which firing and the
requests happen, in the end a job that takes part has exactly one live execution at that time, and one that was
paused, moved away or deleted has none.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from tickwork.config import Settings
from tickwork.model.job import JobRequest
from tickwork.model.public_ids import parse_job_id
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker
from tickwork.trigger import fire

TENANT = 1
ROUNDS = 25
JOBS = 30
SEED = 20261115
_LIVE = """
SELECT job_id, count(*) AS live FROM tickwork.execution
WHERE scheduled_for = $1 AND status IN ('pending', 'running') GROUP BY job_id
"""


@pytest.fixture
async def nodes(settings: Settings) -> AsyncIterator[list[Node]]:
    nodes = [Node(settings) for _ in range(3)]
    for node in nodes:
        await node.open()
    yield nodes
    for node in nodes:
        await node.stop()


@pytest.mark.parametrize("chunk", [4000, 7], ids=["in one go", "half-way through a round"])
async def test_no_miss_no_double_and_nothing_after_the_answer(
    nodes: list[Node],
    database_url: str,
    connection: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
) -> None:
    monkeypatch.setattr(fire, "_CHUNK", chunk)
    monkeypatch.setattr(fire, "_MIN_PER_RULE", 1)
    chance = random.Random(SEED)  # noqa: S311 (a history that can be repeated, not a secret)
    clock = SettableClock(database_url)
    start = datetime.now(UTC).replace(hour=12, minute=0, second=30, microsecond=0)
    await clock.set(start)
    for node in nodes[:2]:  # the third has no worker: what it fires has to wait
        await ScriptedWorker.connect(node, ["work"], credit=10_000)
    for round_number in range(1, ROUNDS + 1):
        due = start + timedelta(minutes=round_number, seconds=-30)
        await clock.set(due - timedelta(seconds=1))
        jobs = await _make(nodes, chance)
        await clock.set(due - timedelta(milliseconds=100))
        takes_part = dict.fromkeys(jobs, True)
        await asyncio.gather(
            *(_fire(node) for node in nodes for _ in range(4)),
            *(_steer(chance.choice(nodes), job, takes_part, chance) for job in jobs),
        )
        await asyncio.gather(*(_fire(node) for node in nodes))
        live = {row["job_id"]: row["live"] for row in await connection.fetch(_LIVE, due)}
        for job, takes in takes_part.items():
            assert live.get(job, 0) == int(takes), f"round {round_number}, seed {SEED}, job {job}: {takes=}"
        await asyncio.gather(*(nodes[0].jobs.cancel(TENANT, job) for job in jobs))


async def _make(nodes: list[Node], chance: random.Random) -> list[int]:
    request = JobRequest(task="work", schedule="* * * * *", overlap="allow")
    views = await chance.choice(nodes).jobs.create(TENANT, [request] * JOBS)
    return [parse_job_id(view.id) for view in views]


async def _fire(node: Node) -> None:
    while await node.step("fire"):
        pass


async def _steer(node: Node, job: int, takes_part: dict[int, bool], chance: random.Random) -> None:
    """A few requests for one job, one after the other: in the end it takes part if it is active and is due then."""
    active, due = True, True
    for _ in range(chance.randint(0, 4)):
        match chance.choice(["pause", "resume", "yearly", "minutely", "delete"]):
            case "pause":
                await node.jobs.pause(TENANT, job)
                active = False
            case "resume":
                await node.jobs.resume(TENANT, job)
                active = True
            case "yearly":
                await node.jobs.patch(TENANT, job, {"schedule": "59 23 31 12 *"})
                due = False
            case "minutely":
                await node.jobs.patch(TENANT, job, {"schedule": chance.choice(["* * * * *", "every 1m"])})
                due = True
            case "delete":
                await node.jobs.cancel(TENANT, job)
                active = False
                break
    takes_part[job] = active and due
