"""The log of an execution is found by its key in the one partition it is in, however much others log."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
import pytest

from tickwork.store.pool import Database
from tickwork.store.query import queries

_AT = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
_FILLED = """
INSERT INTO tickwork.log (tenant_id, scheduled_for, job_id, attempt, first_line, line_count, lines)
SELECT 1, $1::timestamptz + job * interval '1 ms', job, 1, chunk * 2, 2, '[[1,"info","a"],[2,"info","b"]]'
FROM generate_series(1, 2000) job, generate_series(0, 4) chunk
"""
_KEY = f"1, '{_AT.isoformat()}', 1"
_COLUMNS = f"'{{1}}', '{{\"{_AT.isoformat()}\"}}', '{{1}}', '{{1}}'"
_BETWEEN = f"'{_AT.isoformat()}', '{_AT.isoformat()}'"


@pytest.fixture
async def filled(connection: asyncpg.Connection, database_url: str) -> AsyncIterator[Database]:
    await connection.execute(_FILLED, _AT)
    await connection.execute("ANALYZE tickwork.log")
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lines", f"{_KEY}, 1, 3, NULL, 100"),
        ("last_lines", f"{_KEY}, NULL, 100, false"),
        ("last_lines", f"{_KEY}, '{{1,2}}', 20, true"),
        ("standing", _KEY),
        ("next_lines", f"{_COLUMNS}, {_BETWEEN}"),
        ("forget_oldest_lines", f"{_COLUMNS}, {_BETWEEN}, 1000"),
    ],
)
async def test_goes_by_the_key(filled: Database, name: str, arguments: str) -> None:
    kinds = {
        "lines": "int, timestamptz, bigint, int, int, int, int",
        "last_lines": "int, timestamptz, bigint, int[], int, bool",
        "standing": "int, timestamptz, bigint",
        "next_lines": "int[], timestamptz[], bigint[], int[], timestamptz, timestamptz",
        "forget_oldest_lines": "int[], timestamptz[], bigint[], int[], timestamptz, timestamptz, int",
    }
    async with filled.transaction() as connection:
        await connection.execute(f"PREPARE asked ({kinds[name]}) AS {queries('log')[name]}")
        rows = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS off, TIMING off) EXECUTE asked ({arguments})")
        await connection.execute("DEALLOCATE asked")
    plan = "\n".join(row[0] for row in rows)
    assert "Seq Scan on log_" not in plan, plan
    assert "_pkey on log_" in plan, plan
    touched = {
        line.split(" on log_")[1][:8]
        for line in plan.splitlines()
        if " on log_" in line and "never" not in line
    }
    assert touched <= {f"{_AT:%Y%m%d}"}, plan
