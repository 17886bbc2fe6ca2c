"""The log of an execution is found by its key in the one partition it is in, however much others log."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
import pytest

from support.query_plan import explain_run, scans
from tickwork.store.pool import Database

_AT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
_FILLED = """
INSERT INTO tickwork.log (tenant_id, scheduled_for, job_id, attempt, first_line, line_count, lines)
SELECT 1, $1::timestamptz + job * interval '1 ms', job, 1, chunk * 2, 2, '[[1,"info","a"],[2,"info","b"]]'
FROM generate_series(1, 2000) job, generate_series(0, 4) chunk
"""
_KEY = ("1", f"'{_AT.isoformat()}'", "1")
_COLUMNS = ("'{1}'", f"'{{\"{_AT.isoformat()}\"}}'", "'{1}'", "'{1}'")


@pytest.fixture
async def filled(connection: asyncpg.Connection, database_url: str) -> AsyncIterator[Database]:
    await connection.execute(
        "INSERT INTO tickwork.execution "
        "(tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, finished_at) "
        "VALUES (1, $1, 1, 1, 2, 'schedule', 'completed', now())",
        _AT,
    )
    await connection.execute(_FILLED, _AT)
    await connection.execute("ANALYZE tickwork.log")
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("log_lines", (*_KEY, "1", "3", "NULL", "100")),
        ("last_log_lines", (*_KEY, "NULL", "100", "false")),
        ("last_log_lines", (*_KEY, "'{1,2}'", "20", "true")),
        ("log_state", _KEY),
        ("next_log_lines", _COLUMNS),
        ("forget_oldest_log_lines", (*_COLUMNS, "1000")),
    ],
)
async def test_reads_one_partition(filled: Database, name: str, values: tuple[str, ...]) -> None:
    plan = await explain_run(filled, "log", name, *values)
    assert {way.table for way in scans(plan, "log")} == {f"log_{_AT:%Y%m%d}"}, plan
