"""Ending sessions of the database from outside, as its time limits or an administrator do."""

from typing import Any

import asyncpg

_WITHIN = 10_000  # ms: without it the sessions are only told to end, and go on for a moment
_STILL_THERE = "SELECT pid FROM pg_stat_activity WHERE pid = ANY($1::int[])"


async def end_sessions(connection: asyncpg.Connection, condition: str, *values: Any) -> None:
    """Comes back when all of them have ended and let go of what they held."""
    told = await connection.fetch(
        f"SELECT pid, pg_terminate_backend(pid, {_WITHIN}) FROM pg_stat_activity"  # noqa: S608 (a test's own words)
        f" WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND {condition}",
        *values,
    )
    assert told, f"there is no session whose {condition}"
    await connection.execute("SELECT pg_stat_clear_snapshot()")  # kept for the length of a transaction
    assert not await connection.fetch(_STILL_THERE, [row["pid"] for row in told])
