"""Deletes executions with all that belongs to them.

A new table that belongs to executions needs a query here. `tests/flow/test_purge_job.py` names one that was forgotten.
"""

from collections.abc import Sequence
from datetime import datetime

from tickwork.store.pool import Connection
from tickwork.store.query_files import queries, rows_written

# The queries, and how what they delete is called where it is told.
_BELONGINGS = {
    "delete_attempts": "attempts",
    "delete_logs": "log_chunks",
    "delete_dead_letters": "dead_letters",
    "delete_attempt_versions": None,
    "delete_retry_payloads": None,
    "delete_usage": None,
    "delete_checkpoints": None,
    "delete_cancelled_fan_outs": None,
    "delete_callback_waits": None,
    "delete_unended": None,
    "delete_awaited": None,
    "delete_off_schedule": None,
    "delete_executions": "executions",
}


async def delete_executions(
    connection: Connection, tenants: Sequence[int], jobs: Sequence[int], times: Sequence[datetime]
) -> dict[str, int]:
    """How many rows were deleted, by what they were. A tenant or a job that all have may be given once."""
    sql, keys = queries("delete_given_executions"), (list(tenants), list(jobs), list(times))
    deleted = {
        name: rows_written(await connection.execute(sql[query], *keys)) for query, name in _BELONGINGS.items()
    }
    return {name: count for name, count in deleted.items() if name}
