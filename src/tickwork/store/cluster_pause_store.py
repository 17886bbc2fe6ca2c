"""Whether the cluster is paused: one row that all nodes read, so that it outlives them."""

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

import asyncpg

from tickwork.model.cluster import PauseView, RestoreView
from tickwork.model.stream_event import EventKind
from tickwork.store.pool import Database
from tickwork.store.query_files import queries, rows_written


class ClusterState(NamedTuple):
    paused: PauseView | None
    restored: RestoreView | None
    backed_up_at: datetime | None


class PostgresClusterPauseStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("cluster_pause")

    async def read(self) -> ClusterState:
        (row,) = await self._database.fetch(self._sql["read_cluster"])
        paused = restored = None
        if row["paused_at"]:
            paused = PauseView(at=row["paused_at"], by=row["paused_by"], reason=row["pause_reason"])
        if row["restored_at"]:
            restored = RestoreView(at=row["restored_at"], data_until=row["restored_until"])
        return ClusterState(paused, restored, row["backed_up_at"])

    async def pause(self, by: str, reason: str | None) -> bool:
        """Returns False if it was paused already."""
        async with self._database.transaction() as connection:
            answer = await connection.execute(
                self._sql["pause_cluster"], by, reason, EventKind.CLUSTER_PAUSED
            )
        return rows_written(answer) > 0

    async def lift(self, by: str) -> bool:
        """Returns False if it was not paused."""
        async with self._database.transaction() as connection:
            answer = await connection.execute(self._sql["lift_pause"], by, EventKind.CLUSTER_RESUMED)
        return rows_written(answer) > 0


async def note_backup(url: str, at: datetime) -> None:
    """Does nothing to a database that has not been upgraded yet."""
    database = Database(url, size=1)
    await database.open()
    try:
        with suppress(asyncpg.UndefinedTableError):
            async with database.transaction() as connection:
                await connection.execute(queries("cluster_pause")["note_backup"], at)
    finally:
        await database.close()
