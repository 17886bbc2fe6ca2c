"""Dead letters are found by index however many there are, also by plans that are kept for every filter."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from support.query_plan import explain, explain_run, scans
from tickwork.store.pool import Database

_COUNT = 20_000
_FILL = """
WITH lane AS (INSERT INTO tickwork.lane (tenant_id, queue, task) VALUES (1, 'default', 'work') RETURNING id),
ended AS (
    INSERT INTO tickwork.execution
        (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, finished_at)
    SELECT 1, date_trunc('day', now()) + n * interval '1 ms', n % 100, lane.id, 2, 'schedule', 'failed', now()
    FROM generate_series(1, $1::int) n, lane
    RETURNING *
)
INSERT INTO tickwork.dead_letter (tenant_id, scheduled_for, job_id, lane_id, failed_at, error_type)
SELECT tenant_id, scheduled_for, job_id, lane_id, finished_at + job_id * interval '1 ms', 'E' FROM ended
"""
_EVER = ("'1970-01-01'", "'9999-01-01'")
_ANYTHING = ("NULL", "NULL", "NULL")


@pytest.fixture
async def filled(connection: asyncpg.Connection, database_url: str) -> AsyncIterator[Database]:
    await connection.execute(_FILL, _COUNT)
    await connection.execute("ANALYZE")
    database = Database(database_url, size=1)
    await database.open()
    yield database
    await database.close()


@pytest.mark.parametrize(
    ("query", "begin"), [("newest_dead_letters", "'9999-01-01'"), ("oldest_dead_letters", "'1970-01-01'")]
)
@pytest.mark.parametrize(("job", "index"), [("NULL", "dead_letter_age"), ("7", "dead_letter_of_job")])
async def test_a_look_reads_no_more_than_it_may(
    filled: Database, query: str, begin: str, job: str, index: str
) -> None:
    values = ("1", *_EVER, job, *_ANYTHING, begin, begin, "0", "1000", "50", "NULL")
    plan = await explain_run(filled, "dead_letter", query, *values)
    (scan,) = [line for line in plan.splitlines() if index in line]
    assert f"rows={200 if job == '7' else 1000}" in scan
    assert "Seq Scan" not in plan
    other = ({"dead_letter_age", "dead_letter_of_job"} - {index}).pop()
    assert all("rows=0" in line for line in plan.splitlines() if other in line)


@pytest.mark.parametrize("query", ["lock_dead_letters", "discard_dead_letters"])
async def test_beginning_anew_goes_by_the_whole_key(filled: Database, query: str) -> None:
    (way,) = scans(await explain(filled, "dead_letter", query), "dead_letter")
    assert way.goes_by("tenant_id", "scheduled_for", "job_id")
