"""Looking at queues goes by index, whatever is in the tables and whatever the planner thinks of them."""

import re
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tickwork.store.pool import Database
from tickwork.store.query import queries

_FILL = """
WITH lane AS (
    INSERT INTO tickwork.lane (tenant_id, queue, task, terms)
    SELECT 1, 'q' || n % 5, 'work', n::text FROM generate_series(1, 50) n RETURNING id
)
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, worker_id, finished_at)
SELECT 1, date_trunc('day', now()) + n * interval '1 ms', n, 1 + n % 50, n % 4, 'schedule',
    (CASE WHEN n % 5 = 0 THEN 'pending' WHEN n % 5 = 1 THEN 'running' ELSE 'completed' END)::tickwork.execution_status,
    CASE WHEN n % 5 = 0 THEN now() END, CASE WHEN n % 5 > 0 THEN 1 END, CASE WHEN n % 5 > 1 THEN now() END
FROM generate_series(1, $1::int) n
"""
_NAMES = "'{q1,q2}'"
_LOOKS = {
    ("queue", "lines"): ("1", _NAMES),
    ("queue", "depths"): (_NAMES, "'{1,2}'", "'{0,2}'", "10001"),
    ("queue", "running"): ("1", _NAMES),
    ("queue", "count_running"): ("1", "1", "'q1'"),
    ("queue", "backlogs"): ("'{1,1,2}'", "interval '1 s'"),
    ("why", "ahead"): ("1", "2", "now()", "10001"),
    ("why", "holders"): ("1", "5"),
    ("why", "holding"): ("'{1,2}'",),
    ("why", "execution"): ("1", "now()", "7"),
}


@pytest.fixture(params=[None, 0, 100_000], ids=["a new day", "empty", "large"])
async def filled(
    request: pytest.FixtureRequest, connection: asyncpg.Connection, database_url: str
) -> AsyncIterator[Database]:
    if request.param is not None:  # else nobody has counted yet
        await connection.execute(_FILL, request.param)
        await connection.execute("ANALYZE")
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


@pytest.mark.parametrize(("file", "name"), _LOOKS)
async def test_finds_executions_by_their_line_or_by_their_whole_key(
    filled: Database, file: str, name: str
) -> None:
    plan = await _explain_kept(filled, file, name, _LOOKS[file, name])
    assert "Seq Scan on execution" not in plan
    conditions = re.findall(r"Scan using execution_(.*) on execution_.*\n\s*Index Cond: (.*)", plan)
    assert conditions, plan
    for index, condition in conditions:
        wanted = ("lane_id = ", "priority = ") if "ready_at" in index else ("scheduled_for = ", "job_id = ")
        assert all(column in condition for column in wanted), condition


async def _explain_kept(database: Database, file: str, name: str, values: tuple[str, ...]) -> str:
    """With a plan that does not know the values, as a connection keeps it."""
    async with database.transaction() as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await connection.execute(f"PREPARE look AS {queries(file)[name]}")
        rows = await connection.fetch(f"EXPLAIN (COSTS OFF) EXECUTE look ({', '.join(values)})")
        await connection.execute("DEALLOCATE look")
    return "\n".join(row[0] for row in rows)
