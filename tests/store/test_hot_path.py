"""The hot path is made of sets: a few statements per chunk, and finishing touches no index."""

import asyncpg
import pytest

from support.sent_statements import watch_statements
from tickwork.model.job import JobRequest
from tickwork.node import Node
from tickwork.testing.clock import SettableClock
from tickwork.testing.scripted_worker import ScriptedWorker

TENANT = 1
JOBS = 200_000
BATCH = 10_000
SCHEDULES = ("0 9 * * MON", "*/5 * * * *", "@hourly", "every 10m", "30 4 1 * *")
STATEMENTS_PER_CHUNK = 10  # BEGIN, take, pick, hold, insert, lease, advance, note, COMMIT, and one to spare


@pytest.fixture
async def worker(clock: SettableClock, still_node: Node) -> ScriptedWorker:
    """The clock stands still: nothing becomes due another time, however long this takes."""
    return await ScriptedWorker.connect(still_node, ["work"], credit=JOBS)


async def test_firing_costs_statements_per_chunk_and_finishing_is_hot(
    still_node: Node, worker: ScriptedWorker, connection: asyncpg.Connection
) -> None:
    requests = [JobRequest(task="work", schedule=SCHEDULES[n % 5], payload={"n": n}) for n in range(BATCH)]
    for _ in range(JOBS // BATCH):
        await still_node.jobs.create(TENANT, requests)
    assert await connection.fetchval("SELECT count(*) FROM tickwork.rule") == len(SCHEDULES)
    await worker.beat()
    await still_node.step("claim")
    await connection.execute("UPDATE tickwork.rule SET next_at = tickwork.clock()")

    statements = watch_statements(still_node)
    chunks = 0
    while await still_node.step("fire"):
        chunks += 1
        await worker.beat()
    assert len(statements) <= (chunks + 1) * STATEMENTS_PER_CHUNK
    assert chunks <= JOBS / 4000 + 1
    assert (
        await connection.fetchval("SELECT count(*) FROM tickwork.execution WHERE status = 'running'") == JOBS
    )

    runs = await worker.runs()
    assert len(runs) == JOBS
    for begin in range(0, JOBS, BATCH):
        await worker.report_all(runs[begin : begin + BATCH], result=b'{"sent":true,"to":"a@b.c"}')
    assert (
        await connection.fetchval("SELECT count(*) FROM tickwork.execution WHERE status = 'completed'")
        == JOBS
    )
    assert await connection.fetchval("SELECT count(*) FROM tickwork.lease") == 0
    updates, hot_updates = await _updates(still_node, connection)
    assert updates == JOBS
    assert hot_updates == updates


async def _updates(node: Node, connection: asyncpg.Connection) -> tuple[int, int]:
    """Sessions hand in their statistics when asked, or when they end."""
    await node._database._pool.expire_connections()
    async with node._database.transaction() as session:
        await session.execute("SELECT pg_stat_force_next_flush()")
    row = await connection.fetchrow(
        "SELECT sum(n_tup_upd)::int AS all, sum(n_tup_hot_upd)::int AS hot FROM pg_stat_user_tables "
        "WHERE relname LIKE 'execution%'"
    )
    return row["all"], row["hot"]
