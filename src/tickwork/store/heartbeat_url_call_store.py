"""The URLs that are called after success: of jobs, and of the cluster."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from tickwork.model.ping import OutsidePingView
from tickwork.model.public_ids import from_micros
from tickwork.store.pool import Connection, Database
from tickwork.store.port.heartbeat_url_calls import CalledHeartbeat, DueHeartbeat
from tickwork.store.port.record import CompletedColumns
from tickwork.store.query_files import queries, rows_written

_NOWHERE = OutsidePingView(url=None, called_at=None, answered_at=None, error=None)


async def set_heartbeats(connection: Connection, tenant_id: int, urls: Mapping[int, str]) -> None:
    """The URL of each of these jobs."""
    await connection.execute(
        queries("heartbeat_url_call")["set_heartbeats"], tenant_id, [*urls], [*urls.values()]
    )


async def change_heartbeat(connection: Connection, tenant_id: int, job: int, url: str | None) -> None:
    if url:
        await set_heartbeats(connection, tenant_id, {job: url})
    else:
        await connection.execute(queries("heartbeat_url_call")["delete_heartbeat"], job)


async def mark_heartbeats(connection: Connection, completed: CompletedColumns, jobs: Collection[int]) -> None:
    """In the transaction that completes executions. `jobs`: those that have a URL."""
    told = [outcome for outcome in completed.outcomes if outcome.job in jobs] if jobs else []
    if told:
        await connection.execute(
            queries("heartbeat_url_call")["mark_heartbeats"],
            [outcome.tenant for outcome in told],
            [from_micros(outcome.at) for outcome in told],
            [outcome.job for outcome in told],
        )


class PostgresHeartbeatStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("heartbeat_url_call")

    async def jobs(self, limit: int) -> frozenset[int]:
        (row,) = await self._database.fetch(self._sql["heartbeat_jobs"], limit)
        return frozenset(row["jobs"])

    async def mark_completed_since(self, jobs: Sequence[int]) -> None:
        async with self._database.transaction() as connection:
            done = await connection.fetch(self._sql["completed_since_heartbeat"], list(jobs))
            if done:
                await connection.execute(self._sql["mark_heartbeats"], *map(list, zip(*done, strict=True)))

    async def take_due(self, limit: int, lease: timedelta) -> list[DueHeartbeat]:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["take_due_heartbeats"], limit, lease)
        return [DueHeartbeat(*row) for row in rows]

    async def note_called(self, called: Sequence[CalledHeartbeat], give_up_after: timedelta) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(
                self._sql["note_called_heartbeats"],
                [each.heartbeat.job_id for each in called],
                [each.heartbeat.completed_at for each in called],
                [each.error for each in called],
                give_up_after,
            )


class PostgresOutsidePingStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("heartbeat_url_call")

    async def set(self, url: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["set_outside_ping"], url)

    async def delete(self) -> bool:
        async with self._database.transaction() as connection:
            return bool(rows_written(await connection.execute(self._sql["delete_outside_ping"])))

    async def view(self) -> OutsidePingView:
        row = await self._database.fetchrow(self._sql["outside_ping"])
        return OutsidePingView(**row) if row else _NOWHERE

    async def take_due(self, interval: timedelta, most_late: timedelta) -> str | None:
        (row,) = await self._database.fetch(self._sql["is_outside_ping_due"])
        if not row["is_due"]:
            return None
        async with self._database.transaction() as connection:
            url: str | None = await connection.fetchval(
                self._sql["take_due_outside_ping"], interval, most_late
            )
        return url

    async def note_called(self, error: str | None, retry_after: timedelta) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["note_called_outside_ping"], error, retry_after)
