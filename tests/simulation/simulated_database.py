"""The database as a node sees it: real statements, and faults between them.

A simulated node has no pool. Its connections are lent to it one transaction at a time, and every statement passes here
first: it may be lost on the way, its answer may be lost on the way back, or it may stand still until told to go on.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

import asyncpg

from tickwork.store.connect_to_any_host import SETTINGS
from tickwork.store.pool import Database

_SIMULATED = {
    **SETTINGS,
    "lock_timeout": "2ms",  # whoever holds a lock stands still until we say so: waiting longer changes nothing
    "idle_in_transaction_session_timeout": "0",  # a transaction stands still for as long as the history says
    "synchronous_commit": "off",
}
_KEPT_STATEMENTS = 1000  # more than a node has: all loops of all nodes take turns on a few connections

Fault = Literal["lose statement", "lose commit", "lose answer", "stand still", "stand still after commit"]


class Planned(NamedTuple):
    """A fault that waits for its moment: the so-many-th statement, one with these words, or the commit."""

    fault: Fault
    statement: int = 0
    words: str = ""


class Lines:
    """Connections to the real database, lent out and taken back clean."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._free: list[asyncpg.Connection] = []
        self._all: list[asyncpg.Connection] = []

    async def take(self) -> asyncpg.Connection:
        if not self._free:
            connection = await asyncpg.connect(
                self._url, server_settings=_SIMULATED, statement_cache_size=_KEPT_STATEMENTS
            )
            self._all.append(connection)
            return connection
        return self._free.pop()

    async def give_back(self, connection: asyncpg.Connection) -> None:
        if connection.is_in_transaction():
            await connection.execute("ROLLBACK")
        self._free.append(connection)

    async def close(self) -> None:
        for connection in self._all:
            await connection.close()


class Access:
    """Whether and how one node reaches the database."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.cut = False
        self.planned: Planned | None = None
        self.statements = 0
        self.stands_still: Callable[[asyncio.Future[None]], None] = _unexpected

    def arm(self, planned: Planned | None) -> None:
        self.planned, self.statements = planned, 0

    def check(self) -> None:
        if self.cut:
            raise ConnectionRefusedError("simulated: the database is away")

    def strikes(self, fault: Fault, query: str = "") -> bool:
        """Whether this fault is due at the present statement; then it is over with."""
        planned = self.planned
        if planned is None or planned.fault != fault or self.statements < planned.statement:
            return False
        if planned.words not in query:
            return False
        self.planned = None
        return True

    async def stand_still(self) -> None:
        goes_on: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stands_still(goes_on)
        await goes_on
        self.check()


class SimulatedConnection:
    def __init__(self, real: asyncpg.Connection, access: Access) -> None:
        self._real = real
        self._access = access
        self._broken = False

    async def execute(self, query: str, *arguments: Any, timeout: float | None = None) -> Any:  # noqa: ASYNC109, ARG002 (as asyncpg has it)
        if query == "COMMIT":
            return await self._commit()
        return await self._send(self._real.execute, query, *arguments)

    async def fetch(self, query: str, *arguments: Any) -> Any:
        return await self._send(self._real.fetch, query, *arguments)

    async def fetchrow(self, query: str, *arguments: Any) -> Any:
        return await self._send(self._real.fetchrow, query, *arguments)

    async def fetchval(self, query: str, *arguments: Any) -> Any:
        return await self._send(self._real.fetchval, query, *arguments)

    async def copy_records_to_table(self, *arguments: Any, **options: Any) -> Any:
        return await self._send(self._real.copy_records_to_table, *arguments, **options)

    def get_server_version(self) -> Any:
        return self._real.get_server_version()

    def terminate(self) -> None:
        self._broken = True

    async def _send(self, act: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._check()
        self._access.statements += 1
        if self._access.strikes("lose statement"):
            self._break("a statement was lost")
        if self._access.strikes("stand still", str(arguments[0])):
            await self._access.stand_still()
        return await act(*arguments, **options)

    async def _commit(self) -> Any:
        self._check()
        if self._access.strikes("lose commit"):
            self._break("the commit was lost")
        answer = await self._real.execute("COMMIT")
        if self._access.strikes("lose answer"):
            self._break("the answer to the commit was lost")
        if self._access.strikes("stand still after commit"):
            await self._access.stand_still()
        return answer

    def _check(self) -> None:
        if self._broken:
            self._break("the connection is gone")
        self._access.check()

    def _break(self, what: str) -> None:
        self._broken = True
        raise ConnectionResetError(f"simulated: {what}")


class SimulatedDatabase(Database):
    def __init__(self, access: Access) -> None:
        super().__init__("")
        self._access = access

    async def open(self, like: Database | None = None) -> None:
        """Connections are lent when needed."""

    async def close(self) -> None:
        """Likewise."""

    @asynccontextmanager
    async def _acquire(self) -> AsyncIterator[SimulatedConnection]:  # type: ignore[override]
        self._access.check()
        real = await self._access.lines.take()
        try:
            yield SimulatedConnection(real, self._access)
        finally:
            await self._access.lines.give_back(real)


def _unexpected(_: asyncio.Future[None]) -> None:
    raise AssertionError("nobody watches this node")
