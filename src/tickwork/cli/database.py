"""The database of the commands that speak to it themselves."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from tickwork.config import Settings
from tickwork.model.errors import Invalid, TickworkError


@contextmanager
def as_refused() -> Iterator[None]:
    """What PostgreSQL refuses, such as a wrong password, is an answer and no crash."""
    try:
        yield
    except asyncpg.PostgresError as error:
        raise TickworkError(f"PostgreSQL refuses: {error}") from error


def require_database(settings: Settings) -> str:
    if settings.database_url is None:
        raise Invalid.field(
            "database_url",
            "is not set",
            "give --database-url or set TICKWORK_DATABASE_URL; only `tickwork up` has its own",
        )
    return settings.database_url
