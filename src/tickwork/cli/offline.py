"""Making a key with the database alone: the way back in when no admin key is left."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import msgspec

from tickwork.cli.database import as_refused
from tickwork.client.answer import NewKey
from tickwork.config import Settings
from tickwork.define.key import Keys
from tickwork.logs import configure_logs
from tickwork.model.errors import WrongSchema
from tickwork.model.tenancy import Scope
from tickwork.store.embedded import reached
from tickwork.store.migrate import status
from tickwork.store.pool import Database
from tickwork.store.tenancy import PostgresTenancyStore


def make_key(
    settings: Settings, name: str, scopes: Sequence[str], tenant: str | None, expires_at: datetime | None
) -> NewKey:
    configure_logs(settings.log_format, settings.log_level)  # not among what is printed
    with as_refused(), _database(settings) as url:
        return asyncio.run(_make_key(url, name, [Scope(scope) for scope in scopes], tenant, expires_at))


@contextmanager
def _database(settings: Settings) -> Iterator[str]:
    if settings.database_url:
        yield settings.database_url
        return
    with reached(settings.data_dir) as postgres:
        yield postgres.url


async def _make_key(
    url: str, name: str, scopes: Sequence[Scope], tenant: str | None, expires_at: datetime | None
) -> NewKey:
    if (await status(url)).pending:
        raise WrongSchema(
            "the database is not up to date", "run `tickwork db upgrade`, or start a server on it"
        )
    database = Database(url, size=1)
    await database.open()
    try:
        keys = Keys(PostgresTenancyStore(database))
        view, secret = await keys.create(await keys.operator(), name, scopes, tenant, expires_at)
    finally:
        await database.close()
    return NewKey(**msgspec.structs.asdict(view), secret=secret)
