"""The pool of database connections, and transactions.

A transaction is ambient: everything that the store does inside `async with database.transaction()` belongs to it. So an
API call and the answer stored for its Idempotency-Key commit together or not at all.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias

import asyncpg
from prometheus_client import Gauge

from tickwork.model.errors import Unavailable
from tickwork.store.connect_to_any_host import SETTINGS, WORK, Admit, Connector, Limits, opened_at
from tickwork.store.database_errors import BUSY, LOST, Condition, PoolExhausted, unavailable
from tickwork.store.query_files import queries
from tickwork.store.unanswered_commit import CommittingConnection, cut_off_if_unanswered

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

CONNECTIONS = 14  # of a node, at most
_WAIT = 5.0  # seconds until a connection must become free
_ROLL_BACK_WITHIN = 5.0
# Prepared statements of a connection. With fewer than the loops of a node use, each would be planned again and again.
_STATEMENTS_KEPT = 400
_NO_SETTINGS: Mapping[str, str] = {}

_OPEN = Gauge("tickwork_database_connections", "Open connections to the database, by pool.", ["pool"])
_USED = Gauge("tickwork_database_connections_used", "Connections in use, by pool.", ["pool"])
_LIMIT = Gauge("tickwork_database_connections_limit", "Connections that a pool may open.", ["pool"])

_Afterwards = Callable[[], Awaitable[None] | None]


class Replica(Protocol):
    def may_answer(self) -> bool: ...

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]: ...


class Database:
    def __init__(
        self,
        url: str,
        *,
        size: int = 8,
        limits: Limits = WORK,
        condition: Condition | None = None,
        settings: Mapping[str, str] = _NO_SETTINGS,
    ) -> None:
        self._url = url
        self._settings = settings
        self.replica: Replica | None = None  # answers what may be stale
        self._size = size
        self._limits = limits
        self._condition = condition or Condition()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._patience = _WAIT
        self._begin = "BEGIN"
        self.way: Way | None = None
        self._admit: Admit | None = None
        self._reachable = False
        self._in_use: set[Connection] = set()
        self._ambient: ContextVar[Connection | None] = ContextVar("connection", default=None)
        self._afterwards: ContextVar[list[_Afterwards] | None] = ContextVar("afterwards", default=None)

    async def open(self, like: "Database | None" = None) -> None:
        """`like`: an open one with the same URL. What it found out is not asked again."""
        connect, pooled = self.way = like.way.again() if like and like.way else await _find_way(self._url)
        connect.admit = self._admit
        self._patience = _WAIT + connect.patience
        settings = {**SETTINGS, **self._limits.settings(), **self._settings}
        if pooled:
            # Behind PgBouncer each transaction may get another server connection, so it sets the settings when it
            # begins, in the same message.
            self._begin = "BEGIN ISOLATION LEVEL READ COMMITTED;" + ";".join(
                f"SET LOCAL {name} = '{value}'" for name, value in settings.items()
            )
        self._pool = await asyncpg.create_pool(
            self._url,
            connect=connect,
            connection_class=CommittingConnection,
            min_size=0,  # nothing opens connections in the background: the caller gets the error
            max_size=self._size,
            command_timeout=self._limits.statement,
            max_inactive_connection_lifetime=0,
            reset=_nothing_to_reset,
            statement_cache_size=0 if pooled else _STATEMENTS_KEPT,
            server_settings=None if pooled else settings,
        )

    def admit_by(self, admit: Admit) -> None:
        """Let this look at each new connection before anybody uses it."""
        self._admit = admit
        if self.way:
            self.way.connect.admit = admit

    @property
    def pooled(self) -> bool:
        """Whether there is a pooler in between. Known once it is open."""
        return self.way is not None and self.way.pooled

    def report_use(self, name: str) -> None:
        """Report the use of its connections as metrics, under this name."""
        _LIMIT.labels(name).set(self._size)
        _OPEN.labels(name).set_function(lambda: self._pool.get_size() if self._pool else 0)
        _USED.labels(name).set_function(self._used)

    def _used(self) -> int:
        return self._pool.get_size() - self._pool.get_idle_size() if self._pool else 0

    @property
    def usable(self) -> bool:
        """Whether the last attempt reached the database, and it can store data."""
        return self._reachable and self._condition.stores

    @property
    def problem(self) -> str | None:
        """Why it is not usable; None if it is."""
        return None if self.usable else self._condition.cause or ""

    async def abandon_connections(self, opened_before: float) -> None:
        """Give up connections to a server that was replaced, also those that wait for an answer."""
        if self._pool:
            await self._pool.expire_connections()
            for connection in list(self._in_use):
                _cut(connection, opened_before)

    async def close(self) -> None:
        if self._pool:
            try:
                await asyncio.wait_for(self._pool.close(), 5)
            except TimeoutError:
                self._pool.terminate()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One transaction, or a savepoint inside an open one. Raises Unavailable when the database is unavailable."""
        outer = self._ambient.get()
        if outer is not None:
            async with self._savepoint(outer):
                yield outer
            return
        afterwards: list[_Afterwards] = []
        async with self._errors_as_unavailable(), self._acquire() as connection:
            tokens = self._ambient.set(connection), self._afterwards.set(afterwards)
            try:
                await connection.execute(self._begin)
                try:
                    yield connection
                except LOST:
                    raise  # the connection is lost, and the server rolls back
                except BaseException:
                    await _roll_back(connection)
                    raise
                with cut_off_if_unanswered(connection):
                    await connection.execute("COMMIT")
            finally:
                self._ambient.reset(tokens[0])
                self._afterwards.reset(tokens[1])
        for call in afterwards:
            awaitable = call()
            if awaitable is not None:
                await awaitable

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call after the open transaction has committed, or now if none is open."""
        afterwards = self._afterwards.get()
        if afterwards is None:
            call()
        else:
            afterwards.append(call)

    async def finish_after_commit(self, call: Callable[[], Awaitable[None]]) -> None:
        """The same for a coroutine: the block of the open transaction ends when it has finished."""
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
            connection = await self._pool.acquire(timeout=self._patience)
        except asyncpg.PostgresError as error:  # the server answers, but refuses the connection
            raise ConnectionRefusedError(str(error)) from error
        except TimeoutError:
            raise PoolExhausted(f"none of {self._size} connections became free") from None
        self._in_use.add(connection)
        try:
            yield connection
        except LOST:
            _drop(connection)
            raise
        finally:
            self._in_use.discard(connection)
            await self._pool.release(connection)

    async def execute(self, query: str, *arguments: Any) -> str:
        """Write with one statement. PostgreSQL commits it by itself: no round trips for BEGIN and COMMIT."""
        if self._ambient.get() is None and self._begin == "BEGIN":
            async with self._errors_as_unavailable(), self._acquire() as connection:
                with cut_off_if_unanswered(connection):
                    return await connection.execute(query, *arguments)
        async with self.transaction() as connection:
            return await connection.execute(query, *arguments)

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """Read with one statement. It needs a transaction of its own only behind PgBouncer."""
        connection = self._ambient.get()
        if connection is not None:
            return await connection.fetch(query, *arguments)
        if self.replica is not None and self.replica.may_answer():
            with suppress(Unavailable):
                return await self.replica.fetch(query, *arguments)
        if self._begin != "BEGIN":
            async with self.transaction() as connection:
                return await connection.fetch(query, *arguments)
        async with self._errors_as_unavailable(), self._acquire() as connection:
            return await connection.fetch(query, *arguments)

    async def fetchrow(self, query: str, *arguments: Any) -> asyncpg.Record | None:
        rows = await self.fetch(query, *arguments)
        return rows[0] if rows else None

    async def now(self) -> datetime:
        (row,) = await self.fetch(queries("pool")["clock"])
        now: datetime = row["now"]
        return now

    async def try_to_store(self) -> bool:
        """If storing has failed, try whether it works again: write something that takes space, and roll it back."""
        if not self._condition.stores:
            with suppress(_RollBack):
                async with self.transaction() as connection:
                    await connection.execute(queries("pool")["try_to_store"])
                    raise _RollBack
            self._condition.can_store()
        return False

    @asynccontextmanager
    async def _errors_as_unavailable(self) -> AsyncIterator[None]:
        """Turn errors that say that the database is down or busy into Unavailable."""
        try:
            yield
        except LOST as error:
            if isinstance(error, ValueError):
                raise  # asyncpg's error for an argument of the wrong type
            self._reachable = False
            if self._pool and isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                # A primary that was demoted: the other connections lead to it, too.
                await self._pool.expire_connections()
            raise self._condition.failed(error) from error
        except BUSY as error:
            raise self._condition.failed(error) from error
        self._reachable = True


class _RollBack(Exception):
    """Rolls a transaction back."""


async def _roll_back(connection: Connection) -> None:
    try:
        await connection.execute("ROLLBACK", timeout=_ROLL_BACK_WITHIN)
    except LOST:
        _drop(connection)


def _drop(connection: Connection) -> None:
    with suppress(*LOST):  # the pool may have terminated it already
        connection.terminate()


def _cut(connection: Connection, opened_before: float) -> None:
    """As if the server had closed it: whoever uses it at the moment gets the error for that."""
    raw = connection._con  # type: ignore[attr-defined]  # noqa: SLF001 (no other way)
    if raw is not None and raw._transport is not None and opened_at.get(raw, 0.0) < opened_before:  # noqa: SLF001
        raw._transport.abort()  # noqa: SLF001


async def _nothing_to_reset(_: object) -> None:
    """Every transaction ends before its connection is released, and sessions have no other state."""


class Way(NamedTuple):
    """How the database is reached."""

    connect: Connector
    pooled: bool  # there is a pooler in between

    def again(self) -> "Way":
        return Way(self.connect.copy(), self.pooled)


async def _find_way(url: str) -> Way:
    connect = Connector(url)
    try:
        return Way(connect, await _is_pooled(connect))
    except (*LOST, *BUSY) as error:
        raise unavailable(error) from error


async def _is_pooled(connect: Connector) -> bool:
    """Whether there is a pooler in between: it reports a process id of its own."""
    connection = await connect(statement_cache_size=0, command_timeout=connect.patience)
    try:
        async with connection.transaction():
            return bool(await connection.fetchval("SELECT pg_backend_pid()") != connection.get_server_pid())
    finally:
        await connection.close(timeout=_ROLL_BACK_WITHIN)
