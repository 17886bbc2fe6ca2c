"""What the notifier does to the database, one transaction at a time. A row lock lets only one node do so."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from tickwork.store.create_notification_messages import PostgresSending
from tickwork.store.events_to_notifications import PostgresGathering
from tickwork.store.pool import Database
from tickwork.store.port.define import JobStore
from tickwork.store.query_files import queries, rows_written

_DELETED_TOGETHER = 5000


class PostgresNotifierStore:
    def __init__(self, database: Database, jobs: JobStore) -> None:
        """`jobs`: creates the deliveries, in the open transaction."""
        self._database = database
        self._jobs = jobs
        self._sql = queries("notifier_lock_and_cleanup")

    async def has_events(self, settled_after: timedelta) -> bool:
        (row,) = await self._database.fetch(self._sql["is_any_to_gather"], settled_after)
        return bool(row["is_any"])

    async def has_due(self) -> bool:
        (row,) = await self._database.fetch(self._sql["is_any_due"])
        return bool(row["is_any"])

    @asynccontextmanager
    async def gathering(self) -> AsyncIterator[PostgresGathering | None]:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_notifier"])
            yield PostgresGathering(self._database, connection, row) if row else None

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[PostgresSending | None]:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["lock_notifier"])
            yield PostgresSending(self._database, connection, self._jobs, row["now"]) if row else None

    async def delete_old(self, older_than: timedelta) -> bool:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_windows"])
            answers = [
                await connection.execute(self._sql[name], older_than, _DELETED_TOGETHER)
                for name in ("delete_old_notifications", "delete_old_messages")
            ]
        return max(map(rows_written, answers)) == _DELETED_TOGETHER
