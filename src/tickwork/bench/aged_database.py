"""A database that has been in use: jobs that ran for days, with the history of it. Made inside the database."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tickwork.bench.bench_cluster import Stage
from tickwork.bench.recurring_jobs import copy_job
from tickwork.model.ids import job_id, parse_job_id
from tickwork.store.pool import Database
from tickwork.store.retention import Partitions

_ROUNDS = 100
_BETWEEN_ROUNDS = timedelta(hours=2)
_HISTORY_DAYS = 30
_OLD = "UPDATE tickwork.job SET created_at = $2, updated_at = $2, active_from = $2 WHERE id = $1"
_ROUND = "INSERT INTO tickwork.round (rule_id, scheduled_for) VALUES ($1, $2)"
_EXECUTIONS = """
INSERT INTO tickwork.execution
    (scheduled_for, job_id, started_at, finished_at, tenant_id, lane_id, worker_id, status, trigger, priority)
SELECT $2::timestamptz, id, $2, $2::timestamptz + interval '10 milliseconds', tenant_id, lane_id, 1, 'completed',
    'schedule', priority
FROM tickwork.job WHERE rule_id = $1 ORDER BY id
"""


async def age(on: Stage, executions: int, made: Callable[[int], None]) -> tuple[list[str], list[datetime]]:
    """Some of the jobs, and the times at which all of them ran."""
    jobs = max(executions // _ROUNDS, 1)
    latest = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    times = [latest - (_ROUNDS - step) * _BETWEEN_ROUNDS for step in range(_ROUNDS)]
    async with on.client() as client:
        first = await client.create_job(task="bench.count", payload={"n": 0}, schedule="every 2h")
    original = parse_job_id(first.id)
    await on.database.execute(_OLD, original, times[0] - _BETWEEN_ROUNDS)
    await copy_job(on, first.id, 0, jobs, lambda _: None)
    await _make_partitions(on, times)
    rule = await on.database.fetchval("SELECT rule_id FROM tickwork.job WHERE id = $1", original)
    for at in times:
        async with on.database.transaction():
            await on.database.execute(_ROUND, rule, at)
            await on.database.execute(_EXECUTIONS, rule, at, timeout=600)
        made(jobs)
    await on.database.execute("VACUUM ANALYZE", timeout=1800)
    rows = await on.database.fetch(
        "SELECT id FROM tickwork.job WHERE rule_id = $1 ORDER BY random() LIMIT 1000", rule
    )
    return [job_id(row["id"]) for row in rows], times


async def _make_partitions(on: Stage, times: list[datetime]) -> None:
    database = Database(on.database_url, size=1)
    await database.open()
    try:
        await Partitions(database, _HISTORY_DAYS).make_for(times)
    finally:
        await database.close()
