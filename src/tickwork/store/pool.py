"""Connections and transactions.

A transaction is ambient: whatever the store does inside `async with database.transaction()` belongs to it, so that
an API call and the answer kept for its Idempotency-Key commit together or not at all.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeAlias

import asyncpg

from tickwork.model.errors import Unavailable

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

_CONNECT_TIMEOUT = 5.0
_STATEMENT_TIMEOUT = 60.0
_SESSION = {
    "application_name": "tickwork",
    # A node that stops in the middle of a transaction must not hold its locks: the server ends it.
    "idle_in_transaction_session_timeout": "10s",
    "lock_timeout": "10s",
    # Every query here goes by an index. A plan made while a day's partition was still empty must not be another
    # one: it would be kept while millions of rows arrive. For the same reason, batches are joined with executions by
    # `tenant_id = ANY(ARRAY[...])`: a plain equality could be merged, so the planner would see a use in walking the
    # whole index, and on a day of which it knows nothing it would.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_bitmapscan": "off",
    # And as there is one plan only, it is made once: planning over the days' partitions takes longer than a look-up.
    "plan_cache_mode": "force_generic_plan",
}
_LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the server's farewell came while the connection was idle
    asyncpg.OperatorInterventionError,  # shut down, or terminated by somebody
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.ReadOnlySQLTransactionError,  # a primary that was demoted
    asyncpg.IdleInTransactionSessionTimeoutError,
)

_Afterwards = Callable[[], Awaitable[None] | None]


class Database:
    def __init__(self, url: str, *, size: int = 8) -> None:
        self._url = url
        self._size = size
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._begin = "BEGIN"
        self.reachable = False
        self._ambient: ContextVar[Connection | None] = ContextVar("connection", default=None)
        self._afterwards: ContextVar[list[_Afterwards] | None] = ContextVar("afterwards", default=None)

    async def open(self) -> None:
        pooled = await _is_pooled(self._url)
        if pooled:
            # Behind PgBouncer in transaction mode nothing outlives a transaction: neither prepared statements
            # nor settings.
            self._begin = "BEGIN;" + ";".join(
                f"SET LOCAL {name} = '{value}'" for name, value in _SESSION.items()
            )
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,  # none is looked after in the background: what needs one opens it, and says why it cannot
            max_size=self._size,
            timeout=_CONNECT_TIMEOUT,
            command_timeout=_STATEMENT_TIMEOUT,
            max_inactive_connection_lifetime=0,
            reset=_nothing_to_reset,
            **({"statement_cache_size": 0} if pooled else {"server_settings": _SESSION}),
        )

    async def close(self) -> None:
        if self._pool:
            try:
                await asyncio.wait_for(self._pool.close(), 5)
            except TimeoutError:
                self._pool.terminate()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One transaction; a savepoint when one is open already. Unavailable when the database is."""
        outer = self._ambient.get()
        if outer is not None:
            async with self._savepoint(outer):
                yield outer
            return
        afterwards: list[_Afterwards] = []
        async with self._watched(), self._acquire() as connection:
            tokens = self._ambient.set(connection), self._afterwards.set(afterwards)
            try:
                await connection.execute(self._begin)
                try:
                    yield connection
                except BaseException:
                    await _roll_back(connection)
                    raise
                await connection.execute("COMMIT")
            finally:
                self._ambient.reset(tokens[0])
                self._afterwards.reset(tokens[1])
        for call in afterwards:
            rest = call()
            if rest is not None:
                await rest

    def in_transaction(self) -> bool:
        return self._ambient.get() is not None

    def after_commit(self, call: Callable[[], None]) -> None:
        """Once what is being done can be seen by others: at the end of the open transaction, or now."""
        afterwards = self._afterwards.get()
        if afterwards is None:
            call()
        else:
            afterwards.append(call)

    async def finish_after_commit(self, call: Callable[[], Awaitable[None]]) -> None:
        """The same for what takes a while: the open transaction's block ends only when it is done."""
        afterwards = self._afterwards.get()
        if afterwards is None:
            await call()
        else:
            afterwards.append(call)

    @asynccontextmanager
    async def _savepoint(self, connection: Connection) -> AsyncIterator[None]:
        await connection.execute("SAVEPOINT inner_step")
        try:
            yield
        except Exception:
            await connection.execute("ROLLBACK TO SAVEPOINT inner_step")
            raise
        await connection.execute("RELEASE SAVEPOINT inner_step")

    @asynccontextmanager
    async def _acquire(self) -> AsyncIterator[Connection]:
        if self._pool is None:
            raise Unavailable("the database is not open")
        try:
            connection = await self._pool.acquire(timeout=_CONNECT_TIMEOUT)
        except asyncpg.PostgresError as error:  # it is there, but lets nobody in
            raise ConnectionRefusedError(str(error)) from error
        try:
            yield connection
        except _LOST:
            _drop(connection)
            raise
        finally:
            await self._pool.release(connection)

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """Read with one statement; no transaction around it unless the connection is pooled or one is open."""
        connection = self._ambient.get()
        if connection is not None:
            return await connection.fetch(query, *arguments)
        if self._begin != "BEGIN":
            async with self.transaction() as connection:
                return await connection.fetch(query, *arguments)
        async with self._watched(), self._acquire() as connection:
            return await connection.fetch(query, *arguments)

    async def fetchrow(self, query: str, *arguments: Any) -> asyncpg.Record | None:
        rows = await self.fetch(query, *arguments)
        return rows[0] if rows else None

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        """Whatever shows that the database is away becomes Unavailable."""
        try:
            yield
        except _LOST as error:
            if isinstance(error, ValueError):
                raise  # asyncpg's word for an argument of ours that does not fit
            self.reachable = False
            if self._pool and isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                # A primary that was demoted: the other connections lead to it too.
                await self._pool.expire_connections()
            raise Unavailable(f"the database cannot be reached: {error}") from error
        except asyncpg.LockNotAvailableError as error:
            raise Unavailable(f"the database is busy: {error}") from error
        self.reachable = True


async def _roll_back(connection: Connection) -> None:
    try:
        await connection.execute("ROLLBACK")
    except _LOST:
        _drop(connection)


def _drop(connection: Connection) -> None:
    with suppress(*_LOST):  # the pool may have done so already
        connection.terminate()


async def _nothing_to_reset(_: object) -> None:
    """Every transaction ends before its connection goes back, and sessions carry no state."""


async def _is_pooled(url: str) -> bool:
    """A pooler in between shows a process number of its own."""
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_TIMEOUT, statement_cache_size=0)
    except _LOST as error:
        raise Unavailable(f"the database cannot be reached: {error}") from error
    try:
        async with connection.transaction():
            return bool(await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid())
    finally:
        await connection.close(timeout=_CONNECT_TIMEOUT)
