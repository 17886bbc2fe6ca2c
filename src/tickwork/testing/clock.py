"""A clock that replaces the clock of the database and moves only when the test moves it."""

import re
from datetime import datetime, timedelta

import asyncpg

from tickwork.model.quantities import parse_duration

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
    """Decides due, lease and lateness for every node on the database, until it is removed."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url

    async def set(self, at: datetime) -> None:
        """Set the time. After the first call, the clock stands still."""
        connection = await asyncpg.connect(self._url)
        try:
            async with connection.transaction():
                await connection.execute(_SETTABLE)
                await connection.execute("DELETE FROM tickwork.settable_clock")
                await connection.execute("INSERT INTO tickwork.settable_clock VALUES ($1)", at)
        finally:
            await connection.close()

    async def remove(self) -> None:
        """Give the database its own clock back."""
        connection = await asyncpg.connect(self._url)
        try:
            async with connection.transaction():
                await connection.execute(_OWN)
        finally:
            await connection.close()

    async def advance(self, by: timedelta) -> None:
        """Move the clock forward."""
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute("UPDATE tickwork.settable_clock SET at = at + $1", by)
        finally:
            await connection.close()


def to_timedelta(duration: timedelta | str | float) -> timedelta:
    """Accepts "1 day", "90s", "1h30m", "PT5M", seconds, or a timedelta."""
    if isinstance(duration, timedelta):
        return duration
    if isinstance(duration, str):
        duration = _UNIT.sub(lambda unit: unit[1][0], duration.lower()) if duration[:1] != "P" else duration
    return parse_duration(duration)
