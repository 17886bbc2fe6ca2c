"""A user's own connection to PostgreSQL, by each of the libraries that the outbox knows."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from tickwork.outbox import once, once_async

LEVELS = ("read committed", "repeatable read", "serializable")
_ADD = "INSERT INTO effect (execution_id) VALUES ('{}')"


class Library(NamedTuple):
    """How to open a connection, write the effect of an execution with it, and do that once."""

    open: Callable[[str], AbstractAsyncContextManager[Any]]
    add: Callable[[Any, str], Any]
    once: Callable[..., Any]
    submit: str  # the name of the task's method

    async def do_once(self, ctx: Any, connection: Any, work: Callable[..., Any], *args: Any) -> Any:
        done = self.once(ctx, connection, work, *args)
        return await done if self.once is once_async else done


async def make_effect_table(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "CREATE TABLE effect (execution_id text NOT NULL, made_at timestamptz DEFAULT now())"
    )


@asynccontextmanager
async def _asyncpg(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    await connection.set_type_codec(  # as many applications do
        "json", schema="pg_catalog", encoder=lambda value: f"<{value}>", decoder=lambda text: f"<{text}>"
    )
    try:
        yield connection
    finally:
        await connection.close()


async def _add_asyncpg(connection: Any, execution_id: str) -> dict[str, str]:
    await connection.execute(_ADD.format(execution_id))
    return {"made": execution_id}


@asynccontextmanager
async def _psycopg(url: str) -> AsyncIterator[Any]:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        yield connection


@asynccontextmanager
async def _psycopg_async(url: str) -> AsyncIterator[Any]:
    psycopg = pytest.importorskip("psycopg")
    async with await psycopg.AsyncConnection.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        yield connection


@asynccontextmanager
async def _psycopg2(url: str) -> AsyncIterator[Any]:
    psycopg2 = pytest.importorskip("psycopg2")
    connection = psycopg2.connect(url)
    try:
        yield connection
    finally:
        connection.close()


def _add_with_cursor(connection: Any, execution_id: str) -> dict[str, str]:
    connection.cursor().execute(_ADD.format(execution_id))
    return {"made": execution_id}


async def _add_with_async_cursor(connection: Any, execution_id: str) -> dict[str, str]:
    await connection.execute(_ADD.format(execution_id))
    return {"made": execution_id}


def _alchemy_url(url: str, library: str) -> Any:
    alchemy = pytest.importorskip("sqlalchemy")
    pytest.importorskip(library)
    parts = urlsplit(url)
    folder = parse_qs(parts.query)["host"][0]
    return alchemy.URL.create(
        f"postgresql+{library}",
        username=parts.username,
        password=parts.password,
        database=parts.path.strip("/"),
        query={"host": folder},
    )


@asynccontextmanager
async def _session(url: str) -> AsyncIterator[Any]:
    address = _alchemy_url(url, "psycopg")
    from sqlalchemy import create_engine  # noqa: PLC0415 (there, as it was not skipped)
    from sqlalchemy.orm import Session  # noqa: PLC0415

    engine = create_engine(address)
    with Session(engine) as session:
        yield session
    engine.dispose()


@asynccontextmanager
async def _alchemy(url: str) -> AsyncIterator[Any]:
    address = _alchemy_url(url, "psycopg")
    from sqlalchemy import create_engine  # noqa: PLC0415

    engine = create_engine(address)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@asynccontextmanager
async def _async_session(url: str) -> AsyncIterator[Any]:
    address = _alchemy_url(url, "asyncpg")
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine  # noqa: PLC0415

    engine = create_async_engine(address)
    async with AsyncSession(engine) as session:
        yield session
    await engine.dispose()


def _add_alchemy(connection: Any, execution_id: str) -> dict[str, str]:
    from sqlalchemy import text  # noqa: PLC0415

    connection.execute(text(_ADD.format(execution_id)))
    return {"made": execution_id}


async def _add_async_alchemy(connection: Any, execution_id: str) -> dict[str, str]:
    from sqlalchemy import text  # noqa: PLC0415

    await connection.execute(text(_ADD.format(execution_id)))
    return {"made": execution_id}


LIBRARIES = {
    "asyncpg": Library(_asyncpg, _add_asyncpg, once_async, "submit_in_async"),
    "psycopg": Library(_psycopg, _add_with_cursor, once, "submit_in"),
    "psycopg async": Library(_psycopg_async, _add_with_async_cursor, once_async, "submit_in_async"),
    "psycopg2": Library(_psycopg2, _add_with_cursor, once, "submit_in"),
    "SQLAlchemy session": Library(_session, _add_alchemy, once, "submit_in"),
    "SQLAlchemy connection": Library(_alchemy, _add_alchemy, once, "submit_in"),
    "SQLAlchemy async session": Library(_async_session, _add_async_alchemy, once_async, "submit_in_async"),
}
