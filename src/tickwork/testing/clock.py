"""A clock that replaces the clock of the database and moves only when the test moves it."""

import re
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

import asyncpg

from tickwork.model.quantities import parse_duration

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_SETTABLE = """
CREATE TABLE IF NOT EXISTS tickwork.settable_clock (at timestamptz NOT NULL);
CREATE OR REPLACE FUNCTION tickwork.clock() RETURNS timestamptz LANGUAGE sql STABLE
AS 'SELECT at FROM tickwork.settable_clock';
"""
_OWN = """
CREATE OR REPLACE FUNCTION tickwork.clock() RETURNS timestamptz LANGUAGE sql STABLE
AS 'SELECT statement_timestamp()';
DROP TABLE IF EXISTS tickwork.settable_clock;
"""
_UNIT = re.compile(r"\s*(week|day|hour|minute|second)s?\b")


class SettableClock:
    """Decides due, lease and lateness for every node on the database, until it is removed.

    In an `async with` block it keeps its connection; otherwise each call opens one of its own.
    """

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._kept: asyncpg.Connection[asyncpg.Record] | None = None
        self._is_in_place = False

    async def __aenter__(self) -> Self:
        self._kept = await asyncpg.connect(self._url)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._kept:
            await self._kept.close()
            self._kept = None

    async def set(self, at: datetime) -> None:
        """Set the time. After the first call, the clock stands still."""
        async with self._connection() as connection, connection.transaction():
            if not self._is_in_place:  # only once: afterwards every session has to plan its statements again
                await connection.execute(_SETTABLE)
            await connection.execute("DELETE FROM tickwork.settable_clock")
            await connection.execute("INSERT INTO tickwork.settable_clock VALUES ($1)", at)
        self._is_in_place = True

    async def remove(self) -> None:
        """Give the database its own clock back."""
        self._is_in_place = False
        async with self._connection() as connection, connection.transaction():
            await connection.execute(_OWN)

    async def advance(self, by: timedelta) -> None:
        """Move the clock forward."""
        async with self._connection() as connection:
            await connection.execute("UPDATE tickwork.settable_clock SET at = at + $1", by)

    @asynccontextmanager
    async def _connection(self) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
        if self._kept and not self._kept.is_closed():
            yield self._kept
            return
        connection = await asyncpg.connect(self._url)
        try:
            yield connection
        finally:
            await connection.close()


def to_timedelta(duration: timedelta | str | float) -> timedelta:
    """Accepts "1 day", "90s", "1h30m", "PT5M", seconds, or a timedelta."""
    if isinstance(duration, timedelta):
        return duration
    if isinstance(duration, str):
        duration = _UNIT.sub(lambda unit: unit[1][0], duration.lower()) if duration[:1] != "P" else duration
    return parse_duration(duration)
