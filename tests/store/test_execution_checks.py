"""The table of executions accepts a status only with the columns that belong to it."""

from itertools import product

import asyncpg
import pytest

from tickwork.model.execution import ExecutionStatus

_INSERT = """
INSERT INTO tickwork.execution
    (tenant_id, scheduled_for, job_id, lane_id, priority, trigger, status, ready_at, worker_id, finished_at)
VALUES (1, now(), 1, 1, 0, 'schedule', $1::text::tickwork.execution_status, CASE WHEN $2 THEN now() END,
    CASE WHEN $3 THEN 1 END, CASE WHEN $4 THEN now() END)
"""


@pytest.mark.parametrize("status", list(ExecutionStatus))
async def test_columns_agree_with_the_status(connection: asyncpg.Connection, status: ExecutionStatus) -> None:
    for is_ready, has_worker, has_ended in product([False, True], repeat=3):
        is_legal = (
            is_ready == (status == ExecutionStatus.PENDING)
            and (has_worker or status != ExecutionStatus.RUNNING)
            and has_ended == status.ended
        )
        assert await _accepts(connection, str(status), is_ready, has_worker, has_ended) == is_legal


async def _accepts(connection: asyncpg.Connection, *columns: object) -> bool:
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(_INSERT, *columns)
    except asyncpg.CheckViolationError:
        return False
    else:
        return True
    finally:
        await transaction.rollback()
