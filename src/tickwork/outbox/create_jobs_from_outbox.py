"""Creates the jobs that committed transactions have left in the outbox, each exactly once.

A batch is committed before it is sent, so that any relay that sends it again sends the same request under the same
Idempotency-Key: if the first request was accepted, the server repeats its answer. If the server refuses a batch, it is
split in two until the invalid job is alone and is set aside.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import asyncpg
import msgspec
import structlog

from tickwork.client.async_client import AsyncClient
from tickwork.model.errors import Conflict, Invalid, TickworkError, Unavailable
from tickwork.outbox import outbox_tables as statement
from tickwork.outbox.outbox_tables import Connection, check

_LARGEST_BATCH = 200
_POLL = 1.0  # seconds, in case a notification is lost
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_CONNECT_WITHIN = 5.0
_ANSWER_WITHIN = 30.0
_IDLE_TIMEOUT = "90s"  # longer than any request takes
_RETRY_WINDOW = timedelta(hours=20)  # a server forgets an Idempotency-Key after 24
_TEMPORARY_ERRORS = (
    Unavailable,
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # the primary was demoted
)

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger("tickwork.outbox")
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Batch(NamedTuple):
    number: int
    id: str
    begun_at: datetime
    is_old: bool


class _Job(NamedTuple):
    position: int
    id: str
    key: str | None
    request: str

    @property
    def given_key(self) -> str:
        """The key of a job that has none of its own."""
        return f"outbox:{self.id}"


class Relay:
    def __init__(self, url: str, client: AsyncClient) -> None:
        self._url = url
        self._client = client
        self._pause = _FIRST_PAUSE  # grows until the connection works

    async def run(self) -> None:
        """Run until cancelled, or until an error that no retry can fix."""
        while True:
            try:
                async with connected(self._url) as connection:
                    await check(connection)
                    await self._serve(connection)
            except _TEMPORARY_ERRORS as error:
                _log.warning("the relay waits and tries again", error=str(error) or type(error).__name__)
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    async def _serve(self, connection: Connection) -> None:
        written = asyncio.Event()
        await connection.add_listener("tickwork_outbox", lambda *_: written.set())
        while True:
            written.clear()
            await self.forward(connection)
            with suppress(TimeoutError):
                await asyncio.wait_for(written.wait(), _POLL)

    async def forward(self, connection: Connection) -> None:
        """Send batches until no job is left that may be sent."""
        while await self._send_oldest_batch(connection) or await _create_batch(connection):
            self._pause = _FIRST_PAUSE

    async def _send_oldest_batch(self, connection: Connection) -> bool:
        async with connection.transaction(isolation="read_committed"):
            await connection.execute(statement.END_WHEN_IDLE, _IDLE_TIMEOUT)
            row = await connection.fetchrow(statement.TAKE_BATCH, _RETRY_WINDOW)
            if row is None:
                return False
            batch = _Batch(*row)
            jobs = [_Job(*job) for job in await connection.fetch(statement.BATCH_JOBS, batch.number)]
            if batch.is_old:
                await self._start_over(connection, batch, jobs)
            elif jobs:
                await self._send(connection, batch, jobs)
            await connection.execute(statement.DELETE_BATCH, batch.number)
        return True

    async def _send(self, connection: Connection, batch: _Batch, jobs: Sequence[_Job]) -> None:
        try:
            await self._client.create_job_batch(_body(jobs), idempotency_key=batch.id)
        except (Invalid, Conflict) as error:
            await _split(connection, jobs, error)
        else:
            await connection.execute(statement.DELETE_JOBS, _positions(jobs))

    async def _start_over(self, connection: Connection, batch: _Batch, jobs: Sequence[_Job]) -> None:
        """The server may have accepted this batch and since forgotten its Idempotency-Key. It still knows jobs by the
        keys that we gave them, unless they were cancelled. A job with the user's own key may have been created by
        somebody else, so a person must decide."""
        unsure = [job for job in jobs if job.key is not None]
        created = [job for job in jobs if job.key is None and await self._was_cancelled(job)]
        others = [job for job in jobs if job not in unsure and job not in created]
        sent = f"it was sent about {batch.begun_at:%Y-%m-%d %H:%M %Z} and the answer is not known"
        await _set_aside(
            connection, unsure, f"{sent}: look at the job with this key, then retry or discard this"
        )
        await connection.execute(statement.DELETE_JOBS, _positions(created))
        await connection.execute(statement.PUT_BACK, _positions(others))

    async def _was_cancelled(self, job: _Job) -> bool:
        """Cancelling a job frees its key, so sending it again would create another."""
        found = await self._client.list_jobs(q=job.given_key, status="cancelled", limit=100)
        return any(each.key == job.given_key for each in found.items)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(
        url,
        timeout=_CONNECT_WITHIN,
        command_timeout=_ANSWER_WITHIN,
        statement_cache_size=0,
        server_settings={"application_name": "tickwork outbox"},
    )
    try:
        yield connection
    finally:
        connection.terminate()


async def _create_batch(connection: Connection) -> bool:
    async with connection.transaction(isolation="read_committed"):
        rows = await connection.fetch(statement.TAKE_WAITING, _LARGEST_BATCH)
        if rows:
            await connection.execute(statement.CREATE_BATCH, [row["position"] for row in rows])
    return bool(rows)


async def _split(connection: Connection, jobs: Sequence[_Job], error: TickworkError) -> None:
    if len(jobs) == 1:
        return await _set_aside(connection, jobs, _reason(error))
    middle = len(jobs) // 2
    for half in (jobs[:middle], jobs[middle:]):
        await connection.execute(statement.CREATE_BATCH, _positions(half))
    return None


async def _set_aside(connection: Connection, jobs: Sequence[_Job], error: str) -> None:
    await connection.execute(statement.REFUSE, _positions(jobs), error)
    for job in jobs:
        _log.error("a job of the outbox is set aside", id=job.id, key=job.key, error=error)


def _reason(error: TickworkError) -> str:
    if not isinstance(error, Invalid):
        return str(error)
    return "; ".join(
        f"{field.path.removeprefix('[0].')}: {field.message}" + (f" ({field.hint})" if field.hint else "")
        for field in error.errors
    )


def _body(jobs: Sequence[_Job]) -> bytes:
    return b"[" + b",".join(map(_request, jobs)) + b"]"


def _request(job: _Job) -> bytes:
    """The request as written, with a key by which the server recognizes the job."""
    if job.key is not None:
        return job.request.encode()
    fields: dict[str, Any] = _fields.decode(job.request)
    return msgspec.json.encode({**fields, "key": job.given_key, "if_exists": "keep"})


def _positions(jobs: Sequence[_Job]) -> list[int]:
    return [job.position for job in jobs]
