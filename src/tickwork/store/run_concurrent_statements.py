"""Runs the statements of a migration that ends in .concurrently.sql, each by itself, while others read and write.

An index is built in two passes over the table. One whose building was interrupted is there, but invalid: it slows
writers down and answers nothing, so it is dropped and built again. The server goes on building when this program dies;
whoever comes next waits for that first.

PostgreSQL cannot do so for a partitioned table. There, each partition gets its index, and then the table gets one that
adopts them: it reads no rows, and holds up writers for as long as it waits for a lock, which is bounded.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import asyncpg

from tickwork.store.concurrent_statement import (
    ConcurrentStatement,
    CreateIndex,
    DropIndex,
    ValidateConstraint,
    concurrent_statements,
)
from tickwork.store.connect_to_any_host import MIGRATION, RawConnection
from tickwork.store.database_errors import BUSY, LOST, unavailable
from tickwork.store.migration_file import Migration
from tickwork.store.migration_progress import build_phase
from tickwork.store.pool import Database
from tickwork.store.query_files import queries

_SETTINGS = {
    "application_name": "tickwork",
    "timezone": "UTC",
    # An index takes as long as it takes. It also waits for transactions that were there before it, and that wait is
    # one for locks to PostgreSQL; but nobody waits for it in turn.
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_session_timeout": "0",
}
_CLOSE_WITHIN = 5.0  # seconds
_HELD_UP = MIGRATION.lock + 1  # seconds that writers wait at most: for a lock, and for what is done under it
_LOOK_INTERVAL = 10.0  # seconds between two looks at how far an index is

Tell = Callable[[str], None]


class ConcurrentStatements:
    """`database`: an open one, which says how the server is reached. Its connections are not used."""

    def __init__(self, database: Database, tell: Tell) -> None:
        self._database = database
        self._tell = tell

    async def run(self, migration: Migration) -> None:
        with _errors_as_unavailable():
            async with self._connect() as works, self._connect() as looks:
                runner = _Runner(works, looks, self._tell)
                for statement in concurrent_statements(migration.name, migration.sql):
                    await runner.run(statement)

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[RawConnection]:
        """Behind a pooler a session is shared with others, so its settings stay as they are."""
        assert self._database.way is not None  # noqa: S101 (it is open)
        way = self._database.way.again()
        settings = None if way.pooled else _SETTINGS
        connection = await way.connect(statement_cache_size=0, server_settings=settings)
        try:
            yield connection
        finally:
            with suppress(*LOST):
                await connection.close(timeout=_CLOSE_WITHIN)  # cancels what it is still doing


class _Runner:
    def __init__(self, works: RawConnection, looks: RawConnection, tell: Tell) -> None:
        self._works = works
        self._looks = looks
        self._tell = tell
        self._sql = queries("run_concurrent_statements")

    async def run(self, statement: ConcurrentStatement) -> None:
        match statement:
            case CreateIndex():
                await self._create(statement)
            case DropIndex(name):
                await self._drop(name)
            case ValidateConstraint(table, name):
                self._tell(f"constraint {name}: validating")
                await self._works.execute(f"ALTER TABLE tickwork.{table} VALIDATE CONSTRAINT {name}")

    async def _create(self, index: CreateIndex) -> None:
        if not await self._works.fetchval(self._sql["is_table_partitioned"], index.table):
            await self._build(index, index.name, index.table)
            return
        while not await self._is_valid(index.name):
            for partition in await self._works.fetch(self._sql["partitions_of"], index.table):
                name = partition["name"]
                with suppress(asyncpg.UndefinedTableError):  # it was dropped meanwhile
                    await self._build(index, index.name_on(name), name)
            await self._adopt(index)

    async def _build(self, index: CreateIndex, name: str, table: str) -> None:
        while not await self._has_valid(name, table):
            self._tell(f"index {name}: building")
            with suppress(asyncpg.DuplicateTableError):  # somebody else has begun just now
                await self._execute_and_look(index.concurrent_sql(name, table), name)

    async def _has_valid(self, name: str, table: str) -> bool:
        """Without a lock, a valid one is valid. Otherwise whoever builds one must have ended."""
        if await self._is_valid(name):
            return True
        await self._wait_for_builds(table)
        state = await self._works.fetchrow(self._sql["state_of_index"], name)
        if state and not state["is_valid"]:
            self._tell(f"index {name}: dropping what was left of it")
            await self._works.execute(f"DROP INDEX CONCURRENTLY IF EXISTS tickwork.{name}")
        return bool(state and state["is_valid"])

    async def _is_valid(self, name: str) -> bool:
        state = await self._works.fetchrow(self._sql["state_of_index"], name)
        return bool(state and state["is_valid"])

    async def _wait_for_builds(self, table: str) -> None:
        """The lock that they hold. It stops neither readers nor writers, nor does waiting for it."""
        async with self._works.transaction():
            await self._works.execute(f"LOCK TABLE tickwork.{table} IN SHARE UPDATE EXCLUSIVE MODE")

    async def _execute_and_look(self, statement: str, index: str) -> None:
        looking = asyncio.create_task(self._look(index))
        try:
            await self._works.execute(statement)
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _look(self, index: str) -> None:
        while True:
            await asyncio.sleep(_LOOK_INTERVAL)
            for row in await self._looks.fetch(queries("migration_progress")["index_builds"]):
                if row["name"] == index:
                    self._tell(f"index {index}: {build_phase(row)}")

    async def _adopt(self, index: CreateIndex) -> None:
        """Under the lock no partition comes or goes. One that has come before it is looked at again."""
        async with self._briefly_locked(index.table, "SHARE"):
            if not await self._works.fetch(self._sql["partitions_without_index"], index.table, index.name):
                self._tell(f"index {index.name}: complete on all partitions")
                await self._works.execute(index.sql())

    async def _drop(self, name: str) -> None:
        state = await self._works.fetchrow(self._sql["state_of_index"], name)
        if state is None:
            return
        self._tell(f"index {name}: dropping")
        if not state["is_partitioned"]:
            await self._works.execute(f"DROP INDEX CONCURRENTLY IF EXISTS tickwork.{name}")
            return
        async with self._briefly_locked(state["of_table"], "ACCESS EXCLUSIVE"):
            await self._works.execute(f"DROP INDEX IF EXISTS tickwork.{name}")

    @asynccontextmanager
    async def _briefly_locked(self, table: str, mode: str) -> AsyncIterator[None]:
        """A transaction that holds up others. If it takes too long, it lets them go first and is tried again."""
        try:
            async with self._works.transaction():
                await self._works.execute(f"SET LOCAL lock_timeout = '{MIGRATION.lock}s'")
                await self._works.execute(f"SET LOCAL statement_timeout = '{_HELD_UP}s'")
                await self._works.execute(f"LOCK TABLE tickwork.{table} IN {mode} MODE")
                yield
        except asyncpg.QueryCanceledError as error:
            raise asyncpg.LockNotAvailableError(str(error)) from error


@contextmanager
def _errors_as_unavailable() -> Iterator[None]:
    try:
        yield
    except (*LOST, *BUSY) as error:
        raise unavailable(error) from error
