"""Whether the database will do: its version, its schema, its settings, its clock."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import monotonic
from typing import Literal, TypeVar

import asyncpg
import click
import msgspec

from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import Stop
from tickwork.config import Settings
from tickwork.model.errors import Invalid, TickworkError, Unavailable, WrongSchema
from tickwork.store.connect import SETTINGS, WORK
from tickwork.store.database_clock import DatabaseClock
from tickwork.store.migrate import status
from tickwork.store.pool import CONNECTIONS, Database

Result = TypeVar("Result")

wait_option = click.option(
    "--wait-for-database",
    metavar="DURATION",
    help="How long to wait for a database that cannot be reached.  [default: 0s]",
)
_PAUSE = 1.0  # seconds between tries


@contextmanager
def as_refused() -> Iterator[None]:
    """Turn an error of PostgreSQL, such as a wrong password, into a message instead of a traceback."""
    try:
        yield
    except asyncpg.PostgresError as error:
        raise TickworkError(f"PostgreSQL refuses: {error}") from error


async def once_there(act: Callable[[], Awaitable[Result]], within: timedelta, stop: Stop) -> Result:
    """Retry the action while the database cannot be reached, up to a time limit. Prints each reason once."""
    deadline, told = monotonic() + within.total_seconds(), ""
    while True:
        try:
            with as_refused():
                return await act()
        except Unavailable as error:
            left = deadline - monotonic()
            if left <= 0 or stop.asked.is_set():
                raise
            if str(error) != told:
                say(f"waiting for the database: {error}")
            told = str(error)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(_PAUSE, left)):
                await stop.asked.wait()


def require_database(settings: Settings) -> str:
    if settings.database_url is None:
        raise Invalid.field(
            "database_url",
            "is not set",
            "give --database-url or set TICKWORK_DATABASE_URL; only `tickwork up` runs its own database",
        )
    return settings.database_url


class Finding(msgspec.Struct, frozen=True):
    status: Literal["ok", "warn", "fail"]
    what: str
    found: str
    fix: str = ""


_OLDEST_POSTGRES = 14
_LARGEST_OFFSET = 0.5  # seconds
# Settings that should be on, and the risk otherwise.
_WANTED = {
    "fsync": "a power cut may destroy the database",
    "full_page_writes": "a power cut may destroy the database",
    "synchronous_commit": "a crash may lose the last commits",
    "autovacuum": "tables grow and slow down",
}
_ROOM = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - count(*) FILTER (WHERE datid IS NOT NULL AND application_name <> 'tickwork') FROM pg_stat_activity
"""


def check_database(settings: Settings) -> Iterator[Finding]:
    if settings.database_url is None:
        yield Finding("ok", "database", "none set: `tickwork up` runs its own")
        return
    try:
        with as_refused():
            yield from asyncio.run(_look_into(settings.database_url))
    except TickworkError as error:
        fix = "check --database-url, and that PostgreSQL runs there as a primary"
        yield Finding("fail", "database", str(error), fix)


async def _look_into(url: str) -> list[Finding]:
    database = Database(url, size=1)
    await database.open()
    try:
        return [finding async for finding in _findings(database, url)]
    finally:
        await database.close()


async def _findings(database: Database, url: str) -> AsyncIterator[Finding]:
    async with database.transaction() as connection:
        release = connection.get_server_version()
    found = f"PostgreSQL {release.major}"
    if release.major < _OLDEST_POSTGRES:
        yield Finding("fail", "database", found, f"upgrade it to {_OLDEST_POSTGRES} or newer")
        return
    yield Finding("ok", "database", found)
    for finding in (*await _server_settings(database), await _session(database), await _room(database)):
        yield finding
    schema = await _schema(url)
    yield schema
    if schema.status != "fail":
        clock = DatabaseClock(database)
        await clock.read()
        yield _clock(clock.micros() / 1e6 - time.time())


async def _server_settings(database: Database) -> list[Finding]:
    found = {name: await _setting(database, name) for name in _WANTED}
    findings = [
        Finding("warn", "server settings", f"{name} is off: {_WANTED[name]}", f"set {name} = on")
        for name, value in found.items()
        if value == "off"
    ]
    if await _setting(database, "transaction_read_only") == "on":
        fix = "find out why, and set default_transaction_read_only = off"
        findings.append(Finding("fail", "server settings", "nothing may be written", fix))
    return findings or [Finding("ok", "server settings", f"{', '.join(_WANTED)} are on")]


async def _session(database: Database) -> Finding:
    """Check that the session has the settings that Tickwork sets."""
    wanted = {**SETTINGS, **WORK.settings()}
    found = {name: await _setting(database, name) for name in wanted}
    wrong = [
        f"{name} = {found[name]}" for name, value in wanted.items() if found[name].lower() != value.lower()
    ]
    if wrong:
        fix = "let the pooler pass on settings from the start of a session or a transaction"
        return Finding("fail", "session settings", f"not as set: {', '.join(wrong)}", fix)
    return Finding("ok", "session settings", f"as set: jit = {found['jit']} and {len(wanted) - 1} others")


async def _room(database: Database) -> Finding:
    (row,) = await database.fetch(_ROOM)
    servers = max(row[0], 0) // CONNECTIONS
    found = f"{row[0]} for Tickwork, {CONNECTIONS} for each server"
    if not servers:
        return Finding("warn", "connections", found, "raise max_connections, or put PgBouncer in between")
    return Finding("ok", "connections", f"{found}: enough for {servers}")


async def _setting(database: Database, name: str) -> str:
    (row,) = await database.fetch("SELECT current_setting($1)", name)
    return str(row[0])


async def _schema(url: str) -> Finding:
    try:
        schema = await status(url)
    except WrongSchema as error:
        return Finding("fail", "schema", error.found, error.fix)
    if schema.pending:
        return Finding("fail", "schema", f"lacks {', '.join(schema.pending)}", "tickwork db upgrade")
    if schema.current > schema.latest:
        found = f"at migration {schema.current}, made by a newer Tickwork; this one, of {schema.latest}, works with it"
        return Finding("ok", "schema", found, "upgrade this Tickwork, too, when you can")
    return Finding("ok", "schema", f"at migration {schema.current}")


def _clock(offset: float) -> Finding:
    if abs(offset) > _LARGEST_OFFSET:
        found = f"this machine is {abs(offset):.1f} s {'behind' if offset > 0 else 'ahead of'} the database"
        return Finding("warn", "clock", found, "run a time service such as chrony on both")
    return Finding("ok", "clock", f"{abs(offset) * 1000:.0f} ms from the database")
