"""The database of the commands that speak to it themselves."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from time import monotonic
from typing import TypeVar

import asyncpg
import click

from tickwork.cli.loop import Stop
from tickwork.cli.output import say
from tickwork.config import Settings
from tickwork.model.errors import Invalid, TickworkError, Unavailable

Result = TypeVar("Result")

wait_option = click.option(
    "--wait-for-database",
    metavar="DURATION",
    help="How long to wait for a database that is not there.  [default: 0s]",
)
_PAUSE = 1.0  # seconds between tries


@contextmanager
def as_refused() -> Iterator[None]:
    """What PostgreSQL refuses, such as a wrong password, is an answer and no crash."""
    try:
        yield
    except asyncpg.PostgresError as error:
        raise TickworkError(f"PostgreSQL refuses: {error}") from error


async def once_there(act: Callable[[], Awaitable[Result]], within: timedelta, stop: Stop) -> Result:
    """Do it, again and again for so long while the database is not there. Each reason for waiting is told once."""
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
            "give --database-url or set TICKWORK_DATABASE_URL; only `tickwork up` has its own",
        )
    return settings.database_url
