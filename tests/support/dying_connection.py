"""A node that dies at a chosen statement, as far as its database can tell: it sends nothing after it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tickwork.node import Node


class Died(BaseException):
    """Nobody catches it: the node is gone."""


class Death:
    """Counts the statements of a node, and ends it after one of them."""

    def __init__(self, after: int | None = None) -> None:
        """`after`: the number of the last statement, from 1 on; None: it lives."""
        self._after = after
        self.statements: list[str] = []
        self.is_dead = False

    def sent(self, query: str) -> None:
        if self.is_dead:
            return  # what is sent now only ends the connection
        self.statements.append(name_of(query))
        if len(self.statements) == self._after:
            self.is_dead = True
            raise Died(self.statements[-1])


def name_of(query: str) -> str:
    return query.partition("*/")[0].strip("/* ") if query.startswith("/*") else query.split(maxsplit=1)[0]


def let_die(node: Node, sent: Callable[[str], None]) -> None:
    """Call `sent` after each statement that the node sends from now on."""
    database, acquire = node._database, node._database._acquire

    @asynccontextmanager
    async def watched() -> AsyncIterator[Any]:
        async with acquire() as connection:
            yield _WatchedConnection(connection, sent)

    database._acquire = watched  # type: ignore[method-assign]


class _WatchedConnection:
    def __init__(self, connection: Any, sent: Callable[[str], None]) -> None:
        self._connection = connection
        self._sent = sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def execute(self, query: str, *arguments: Any, **options: Any) -> Any:
        return await self._send(self._connection.execute, query, *arguments, **options)

    async def fetch(self, query: str, *arguments: Any, **options: Any) -> Any:
        return await self._send(self._connection.fetch, query, *arguments, **options)

    async def fetchrow(self, query: str, *arguments: Any, **options: Any) -> Any:
        return await self._send(self._connection.fetchrow, query, *arguments, **options)

    async def fetchval(self, query: str, *arguments: Any, **options: Any) -> Any:
        return await self._send(self._connection.fetchval, query, *arguments, **options)

    async def _send(self, call: Callable[..., Any], query: str, *arguments: Any, **options: Any) -> Any:
        answer = await call(query, *arguments, **options)
        self._sent(query)
        return answer
