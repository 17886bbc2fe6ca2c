"""Lists, redrives, discards and retries dead letters.

A transaction locks the dead letter first, then the job, then the execution. So each is redriven or discarded once, and
no job is paused or cancelled meanwhile.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import asyncpg

from tickwork.model.dead_letter import CHUNK, DeadLetterFilter, DeadLetterView, Refused
from tickwork.model.errors import Conflict, NotFound
from tickwork.model.execution import AttemptError, ExecutionKey, ExecutionStatus, Trigger
from tickwork.model.field_types import Page, to_utc
from tickwork.model.job import JobStatus
from tickwork.model.past_attempt_input import RetryPayload
from tickwork.model.public_ids import execution_id, from_micros, job_id, to_micros
from tickwork.store.batch_columns import stored
from tickwork.store.lock_schedule_rules import ConcurrentChange, retry_on_conflict
from tickwork.store.page_cursor import DeadLetterPlace, decode_cursor, encode_cursor
from tickwork.store.past_attempt_input_store import give_payload, payload_of_last_attempt
from tickwork.store.pool import Connection, Database
from tickwork.store.port.record import OldestDeadLetters, Revived
from tickwork.store.query_files import queries

_RETRIED = (ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(9999, 1, 1, tzinfo=UTC)
_LAST = DeadLetterPlace("dead letters", to_micros(_END), to_micros(_END), 2**63 - 1)
_FIRST = DeadLetterPlace("dead letters", 0, 0, 0)


class PostgresDeadLetterStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = queries("dead_letter")

    async def newest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> Page[DeadLetterView]:
        begin = decode_cursor(cursor, DeadLetterPlace) if cursor else _LAST
        rows, end = await self._page("newest_dead_letters", tenant_id, wanted, limit, begin)
        return Page([_view(row) for row in rows], encode_cursor(end))

    async def oldest(
        self, tenant_id: int, wanted: DeadLetterFilter, limit: int, cursor: str | None
    ) -> OldestDeadLetters:
        begin = decode_cursor(cursor, DeadLetterPlace) if cursor else _FIRST
        rows, end = await self._page("oldest_dead_letters", tenant_id, wanted, limit, begin)
        return OldestDeadLetters([_key(tenant_id, row) for row in rows], encode_cursor(end))

    async def _page(
        self, query: str, tenant_id: int, wanted: DeadLetterFilter, limit: int, begin: DeadLetterPlace
    ) -> tuple[list[asyncpg.Record], DeadLetterPlace | None]:
        """The dead letters of a page, and where the next page begins if there may be one."""
        rows = await self._database.fetch(
            self._sql[query],
            tenant_id, to_utc(wanted.since or _BEGINNING), to_utc(wanted.until or _END), wanted.job, wanted.task,
            wanted.queue, wanted.error, from_micros(begin.failed_at), from_micros(begin.time), begin.job, CHUNK, limit,
            wanted.fingerprint,
        )  # fmt: skip
        found = [row for row in rows if row["job_id"] is not None]
        if len(found) == limit:
            return found, _place(found[-1], "failed_at", "scheduled_for", "job_id")
        if rows[0]["seen_count"] == CHUNK:
            return found, _place(rows[0], "seen_failed_at", "seen_time", "seen_job")
        return found, None

    async def last_of_job(self, tenant_id: int, job: int) -> datetime | None:
        row = await self._database.fetchrow(self._sql["last_of_job"], tenant_id, job)
        return row["scheduled_for"] if row else None

    async def redrive(
        self, tenant_id: int, keys: Sequence[ExecutionKey], start_at: datetime, interval: timedelta
    ) -> Revived:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["keep_partitions"])
            locked = await self._lock(connection, tenant_id, keys)
            found = [key for key in keys if key in locked]
            cancelled = await self._cancelled_jobs(connection, tenant_id, found)
            revived = [key for key in found if key.job_id not in cancelled]
            await self._forget(connection, tenant_id, revived)
            times = [start_at + number * interval for number in range(len(revived))]
            await self._revive(connection, tenant_id, revived, times)
        refused = [_refused(key) for key in found if key.job_id in cancelled]
        return Revived(len(revived), [key for key in keys if key not in locked], refused)

    async def discard(self, tenant_id: int, keys: Sequence[ExecutionKey]) -> list[ExecutionKey]:
        async with self._database.transaction() as connection:
            locked = await self._lock(connection, tenant_id, keys)
            await self._forget(connection, tenant_id, list(locked))
        return [key for key in keys if key not in locked]

    async def retry(self, key: ExecutionKey, payload: RetryPayload | None = None) -> None:
        await retry_on_conflict(lambda: self._retry(key, payload))

    async def _retry(self, key: ExecutionKey, payload: RetryPayload | None) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["keep_partitions"])
            await connection.execute(self._sql["keep_elements"], *key)
            await self._forget(connection, key.tenant_id, [key])
            cancelled = await self._cancelled_jobs(connection, key.tenant_id, [key])
            status = await connection.fetchval(self._sql["lock_ended_execution"], *key)
            _check_retried(key, status)
            if cancelled:
                raise Conflict(_refused(key).reason)
            checked = await connection.fetchrow(self._sql["check_ended"], *key)
            assert checked is not None  # noqa: S101 (it always gives one row)
            elements = await connection.fetch(self._sql["elements_cancelled_with"], *key)
            if any(row["being_stopped"] for row in (checked, *elements)):
                raise Conflict("a worker was told to stop it and has not stopped yet: try again in a moment")
            if checked["failed_since"]:
                raise ConcurrentChange
            before = await payload_of_last_attempt(connection, key) if payload else None
            revived = [*(_key(key.tenant_id, row) for row in elements), key]
            await self._revive(connection, key.tenant_id, revived, [checked["now"]] * len(revived))
            if payload:
                await give_payload(connection, key, payload, before)

    async def _lock(
        self, connection: Connection, tenant_id: int, keys: Sequence[ExecutionKey]
    ) -> set[ExecutionKey]:
        rows = await connection.fetch(self._sql["lock_dead_letters"], tenant_id, *_columns(keys))
        return {_key(tenant_id, row) for row in rows}

    async def _cancelled_jobs(
        self, connection: Connection, tenant_id: int, keys: Sequence[ExecutionKey]
    ) -> set[int]:
        jobs = list({key.job_id for key in keys})
        rows = await connection.fetch(self._sql["lock_jobs_of_dead_letters"], tenant_id, jobs)
        return {row["id"] for row in rows if row["status"] == JobStatus.CANCELLED}

    async def _forget(self, connection: Connection, tenant_id: int, keys: Sequence[ExecutionKey]) -> None:
        await connection.execute(self._sql["discard_dead_letters"], tenant_id, *_columns(keys))

    async def _revive(
        self,
        connection: Connection,
        tenant_id: int,
        keys: Sequence[ExecutionKey],
        ready_at: Sequence[datetime],
    ) -> None:
        if keys:
            await connection.execute(self._sql["revive_ended"], tenant_id, *_columns(keys), ready_at)


def _check_retried(key: ExecutionKey, status: str | None) -> None:
    name = execution_id(key.job_id, key.scheduled_for)
    if status is None:
        raise NotFound("execution", name)
    if status not in _RETRIED:
        raise Conflict(f"only failed and cancelled executions can be retried: execution {name} is {status}")


def _columns(keys: Sequence[ExecutionKey]) -> tuple[list[datetime], list[int]]:
    return [key.scheduled_for for key in keys], [key.job_id for key in keys]


def _key(tenant_id: int, row: asyncpg.Record) -> ExecutionKey:
    return ExecutionKey(tenant_id, row["scheduled_for"], row["job_id"])


def _place(row: asyncpg.Record, failed_at: str, time: str, job: str) -> DeadLetterPlace:
    return DeadLetterPlace("dead letters", to_micros(row[failed_at]), to_micros(row[time]), row[job])


def _refused(key: ExecutionKey) -> Refused:
    return Refused(execution_id(key.job_id, key.scheduled_for), f"job {job_id(key.job_id)} is cancelled")


def _view(row: asyncpg.Record) -> DeadLetterView:
    error = stored(row["error"], AttemptError)
    return DeadLetterView(
        id=execution_id(row["job_id"], row["scheduled_for"]),
        job_id=job_id(row["job_id"]),
        job_name=row["name"],
        job_key=row["key"],
        task=row["task"],
        queue=row["queue"],
        trigger=Trigger(row["trigger"]),
        scheduled_for=row["scheduled_for"],
        failed_at=row["failed_at"],
        attempts=row["attempt"],
        reason=row["reason"],
        error=AttemptError(error.type, error.message) if error else None,
    )
