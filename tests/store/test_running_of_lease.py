"""What a lease stands for: of all that was handed over in one go, what is still in the worker's hands."""

from datetime import UTC, datetime, timedelta

import asyncpg

from support.query_plan import all_statements, explain
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

WORKER, OTHER_WORKER = 7, 8
TIMES = [datetime.now(UTC) + timedelta(seconds=n) for n in range(3)]
_EXECUTION = """
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, worker_id, finished_at)
SELECT $1, $2, $3, 1, 2, 'schedule', $4::tickwork.execution_status, $5, CASE WHEN $4 = 'completed' THEN now() END
"""
_LEASE = "INSERT INTO tickwork.lease (worker_id, tenant_ids, scheduled_fors, job_ids) VALUES ($1, $2, $3, $4)"
_HELD = """
SELECT e.tenant_id, e.scheduled_for, e.job_id, e.place
FROM tickwork.lease l CROSS JOIN LATERAL tickwork.running_of_lease(l, $1, $2) AS e ORDER BY e.place
"""


async def test_one_value_stands_for_all(connection: asyncpg.Connection) -> None:
    at = TIMES[0]
    for job in (1, 2, 3):
        await _run(connection, 1, at, job)
    await connection.execute(_LEASE, WORKER, [1], [at], [1, 2, 3])
    assert await _held(connection) == [(1, at, 1, 1), (1, at, 2, 2), (1, at, 3, 3)]
    assert await _held(connection, 2, 3) == [(1, at, 2, 2), (1, at, 3, 3)]


async def test_each_has_its_own_tenant_and_time(connection: asyncpg.Connection) -> None:
    for tenant, at in zip((1, 2, 3), TIMES, strict=True):
        await _run(connection, tenant, at, 9)
    await connection.execute(_LEASE, WORKER, [1, 2, 3], TIMES, [9, 9, 9])
    assert await _held(connection) == [(1, TIMES[0], 9, 1), (2, TIMES[1], 9, 2), (3, TIMES[2], 9, 3)]
    assert await _held(connection, 2, 2) == [(2, TIMES[1], 9, 2)]


async def test_leaves_out_what_has_ended_or_went_to_others(connection: asyncpg.Connection) -> None:
    at = TIMES[0]
    await _run(connection, 1, at, 1, status="completed")
    await _run(connection, 1, at, 2, worker=OTHER_WORKER)
    await _run(connection, 1, at, 3)
    await connection.execute(_LEASE, WORKER, [1], [at], [1, 2, 3, 4])
    assert await _held(connection) == [(1, at, 3, 3)]


async def test_is_a_part_of_the_plan_of_who_asks(database_url: str) -> None:
    database = Database(database_url, size=1)
    await database.open()
    asking = [(file, name) for file, name in all_statements() if "running_of_lease(" in queries(file)[name]]
    assert asking
    for file, name in asking:
        assert "running_of_lease" not in await explain(database, file, name)
    await database.close()


async def _run(
    connection: asyncpg.Connection,
    tenant: int,
    at: datetime,
    job: int,
    *,
    status: str = "running",
    worker: int = WORKER,
) -> None:
    await connection.execute(_EXECUTION, tenant, at, job, status, worker)


async def _held(connection: asyncpg.Connection, first: int = 1, last: int = 1000) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await connection.fetch(_HELD, first, last)]
