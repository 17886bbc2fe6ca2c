"""The checkpoint of an execution is found by its key in the one partition it is in, however much others store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
import pytest

from support.query_plan import explain_run, scans
from tickwork.store.pool import Database

_AT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
_FILLED = """
INSERT INTO tickwork.checkpoint (tenant_id, scheduled_for, job_id, attempt, number, stored_at, step, value)
SELECT 1, $1::timestamptz + job * interval '1 ms', job, 1, step, now(), step::text, '1'
FROM generate_series(1, 2000) job, generate_series(1, 5) step
"""
_KEY = ("1", f"'{_AT.isoformat()}'", "1")
_KEYS = ("'{1}'", f"'{{\"{_AT.isoformat()}\"}}'", "'{1}'")


@pytest.fixture
async def filled(connection: asyncpg.Connection, database_url: str) -> AsyncIterator[Database]:
    await connection.execute(
        "INSERT INTO tickwork.execution "
        "(tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, finished_at) "
        "VALUES (1, $1, 1, 1, 2, 'schedule', 'completed', now())",
        _AT,
    )
    await connection.execute(_FILLED, _AT)
    await connection.execute("ANALYZE tickwork.checkpoint")
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("stored_so_far", _KEYS),
        ("results_of_steps", (*_KEYS, "'{pay}'")),
        ("recall_checkpoints", _KEYS),
        ("checkpoint_of_execution", _KEY),
        ("delete_checkpoint", _KEY),
    ],
)
async def test_reads_one_partition_by_its_key(filled: Database, name: str, values: tuple[str, ...]) -> None:
    plan = await explain_run(filled, "checkpoint", name, *values)
    ways = list(scans(plan, "checkpoint"))
    assert {way.table for way in ways} == {f"checkpoint_{_AT:%Y%m%d}"}, plan
    assert all(way.goes_by("tenant_id", "scheduled_for", "job_id") for way in ways), plan
