"""One interface to the user's database connection, whichever library it comes from.

Statements have {} as the placeholder. Values are text and are cast in the statement, so that the codecs that the user
has set for JSON or UUIDs do not matter.
"""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from inspect import iscoroutinefunction
from itertools import count
from typing import Any, Protocol


class Driver(Protocol):
    def in_transaction(self) -> bool: ...
    def transaction(self) -> AbstractContextManager[Any]: ...
    def value(self, statement: str, *values: str) -> Any: ...


class AsyncDriver(Protocol):
    def in_transaction(self) -> bool: ...
    def transaction(self) -> AbstractAsyncContextManager[Any]: ...
    async def value(self, statement: str, *values: str) -> Any: ...


def driver_of(connection: Any) -> Driver:
    match _library(connection), _is_async(connection):
        case "sqlalchemy", False:
            return _SqlAlchemy(connection)
        case "psycopg", False:
            return _Psycopg(connection)
        case "psycopg2", _:
            return _Psycopg2(connection)
    raise TypeError(
        f"{_kind(connection)} is no connection of psycopg, psycopg2 or SQLAlchemy; for an async one, "
        "call the function whose name ends in _async"
    )


def async_driver_of(connection: Any) -> AsyncDriver:
    match _library(connection), _is_async(connection):
        case "asyncpg", _:
            return _Asyncpg(connection)
        case "sqlalchemy", True:
            return _AsyncSqlAlchemy(connection)
        case "psycopg", True:
            return _AsyncPsycopg(connection)
    raise TypeError(
        f"{_kind(connection)} is no connection of asyncpg, nor an async one of psycopg or SQLAlchemy; for a "
        "sync one, call the function whose name does not end in _async"
    )


def _library(connection: Any) -> str | None:
    """Find the library by the modules of the class and its bases, so that nothing has to be imported."""
    roots = (kind.__module__.partition(".")[0] for kind in type(connection).__mro__)
    return next((root for root in roots if root in ("asyncpg", "psycopg", "psycopg2", "sqlalchemy")), None)


def _is_async(connection: Any) -> bool:
    return iscoroutinefunction(getattr(type(connection), "execute", None))


def _kind(connection: Any) -> str:
    return f"{type(connection).__module__}.{type(connection).__qualname__}"


class _Asyncpg:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def in_transaction(self) -> bool:
        return bool(self._connection.is_in_transaction())

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        return self._connection.transaction()  # type: ignore[no-any-return]

    async def value(self, statement: str, *values: str) -> Any:
        placeholders = (f"${number}" for number in count(1))
        return await self._connection.fetchval(_with_placeholders(statement, placeholders), *values)


class _PsycopgState:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def in_transaction(self) -> bool:
        return bool(self._connection.info.transaction_status)  # 0 is idle

    def _cursor(self) -> Any:
        """A cursor with plain rows, whatever row factory the connection has."""
        from psycopg.rows import tuple_row  # noqa: PLC0415 (there, if the user has it)

        return self._connection.cursor(row_factory=tuple_row)


class _Psycopg(_PsycopgState):
    def transaction(self) -> AbstractContextManager[Any]:
        return self._connection.transaction()  # type: ignore[no-any-return]

    def value(self, statement: str, *values: str) -> Any:
        with self._cursor() as cursor:
            cursor.execute(_percent(statement), values)
            return _first(cursor.fetchone()) if cursor.description else None


class _AsyncPsycopg(_PsycopgState):
    def transaction(self) -> AbstractAsyncContextManager[Any]:
        return self._connection.transaction()  # type: ignore[no-any-return]

    async def value(self, statement: str, *values: str) -> Any:
        async with self._cursor() as cursor:
            await cursor.execute(_percent(statement), values)
            return _first(await cursor.fetchone()) if cursor.description else None


class _Psycopg2:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def in_transaction(self) -> bool:
        return bool(self._connection.info.transaction_status)  # 0 is idle

    def transaction(self) -> AbstractContextManager[Any]:
        return self._connection  # type: ignore[no-any-return]  # as a context manager it commits or rolls back

    def value(self, statement: str, *values: str) -> Any:
        from psycopg2.extensions import cursor as plain_cursor  # noqa: PLC0415 (there, if the user has it)

        with self._connection.cursor(cursor_factory=plain_cursor) as cursor:
            cursor.execute(_percent(statement), values)
            return _first(cursor.fetchone()) if cursor.description else None


class _SqlAlchemyState:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction())


class _SqlAlchemy(_SqlAlchemyState):
    """A Connection or a Session."""

    def transaction(self) -> AbstractContextManager[Any]:
        return self._connection.begin()  # type: ignore[no-any-return]

    def value(self, statement: str, *values: str) -> Any:
        rows = self._connection.execute(*_named(statement, values))
        return rows.scalar() if rows.returns_rows else None


class _AsyncSqlAlchemy(_SqlAlchemyState):
    """An AsyncConnection or an AsyncSession."""

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        return self._connection.begin()  # type: ignore[no-any-return]

    async def value(self, statement: str, *values: str) -> Any:
        rows = await self._connection.execute(*_named(statement, values))
        return rows.scalar() if rows.returns_rows else None


def _percent(statement: str) -> str:
    return _with_placeholders(statement, iter(lambda: "%s", None))


def _named(statement: str, values: tuple[str, ...]) -> tuple[Any, dict[str, str]]:
    from sqlalchemy import text  # noqa: PLC0415 (there, if the user has it)

    names = [f"value{number}" for number in range(len(values))]
    named = _with_placeholders(statement, (f":{name}" for name in names))
    return text(named), dict(zip(names, values, strict=True))


def _with_placeholders(statement: str, placeholders: Iterator[str]) -> str:
    first, *rest = statement.split("{}")
    return first + "".join(next(placeholders) + part for part in rest)


def _first(row: tuple[Any, ...] | None) -> Any:
    return row[0] if row else None
