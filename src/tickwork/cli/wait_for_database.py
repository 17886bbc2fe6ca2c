"""Reaches the database of a command: its URL, waiting until it can be reached, and readable errors."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import monotonic
from typing import TypeVar

import asyncpg
import click

from tickwork.cli.output import say
from tickwork.cli.run_until_stopped import StopRequest
from tickwork.config import Settings
from tickwork.model.errors import Invalid, TickworkError, Unavailable

Result = TypeVar("Result")

wait_option = click.option(
    "--wait-for-database",
    metavar="DURATION",
    help="How long to wait for a database that cannot be reached.  [default: 0s]",
)
_RETRY_INTERVAL = 1.0  # seconds


@contextmanager
def readable_postgres_errors() -> Iterator[None]:
    """Turn an error of PostgreSQL, such as a wrong password, into a message instead of a traceback."""
    try:
        yield
    except asyncpg.PostgresError as error:
        raise TickworkError(f"PostgreSQL refuses: {error}") from error


async def retry_until_reachable(
    action: Callable[[], Awaitable[Result]], within: timedelta, stop: StopRequest
) -> Result:
    """Retry the action while the database cannot be reached, up to a time limit. Prints each reason once."""
    deadline, reported = monotonic() + within.total_seconds(), ""
    while True:
        try:
            with readable_postgres_errors():
                return await action()
        except Unavailable as error:
            left = deadline - monotonic()
            if left <= 0 or stop.received.is_set():
                raise
            if str(error) != reported:
                say(f"waiting for the database: {error}")
            reported = str(error)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(_RETRY_INTERVAL, left)):
                await stop.received.wait()


def require_database(settings: Settings) -> str:
    if settings.database_url is None:
        raise Invalid.field(
            "database_url",
            "is not set",
            "give --database-url or set TICKWORK_DATABASE_URL; only `tickwork up` runs its own database",
        )
    return settings.database_url
