"""What the demo asks of a database: whether it is empty, its clock, and its statistics after a week."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from tickwork.store.pool import Database
from tickwork.store.query_files import queries


class PostgresDemoStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("demo_clock_and_statistics")

    async def has_jobs(self) -> bool:
        (row,) = await self._database.fetch(self._sql["any_job"])
        return bool(row["is_any"])

    async def has_jobs_with(self, tag: str) -> bool:
        (row,) = await self._database.fetch(self._sql["any_job_with_tag"], tag)
        return bool(row["is_any"])

    async def move_clock(self, at: datetime) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["move_clock"], at)

    async def next_time(self, after: datetime) -> datetime | None:
        (row,) = await self._database.fetch(self._sql["next_time"], after)
        at: datetime | None = row["at"]
        return at

    async def prepare_statistics(self, begin: datetime, end: datetime) -> None:
        """What nodes do minute by minute was not done while the clock was moved; this lets them do it at once."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["request_recounts_of_fired"], end)
            await connection.execute(self._sql["merge_from"], begin)

    @asynccontextmanager
    async def fast_commits(self) -> AsyncIterator[None]:
        """Let thousands of small commits not wait for the disk each: nobody relies on them yet."""
        (row,) = await self._database.fetch(self._sql["quoted_database"])
        await self._alter(f"ALTER DATABASE {row['name']} SET synchronous_commit = off")
        try:
            yield
        finally:
            await self._alter(f"ALTER DATABASE {row['name']} RESET synchronous_commit")

    async def _alter(self, statement: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(statement)
