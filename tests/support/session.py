"""Ending sessions of the database from outside, as its time limits or an administrator do."""

from typing import Any

import asyncpg

_WITHIN = 10_000  # ms: without it the sessions are only told to end, and go on for a moment


async def end_sessions(connection: asyncpg.Connection, condition: str, *values: Any) -> None:
    """Comes back when all of them have ended and let go of what they held."""
    ended = await connection.fetch(
        f"SELECT pg_terminate_backend(pid, {_WITHIN}) AS it FROM pg_stat_activity"  # noqa: S608 (a test's own words)
        f" WHERE pid <> pg_backend_pid() AND {condition}",
        *values,
    )
    assert ended, f"there is no session whose {condition}"
    assert all(row["it"] for row in ended)
