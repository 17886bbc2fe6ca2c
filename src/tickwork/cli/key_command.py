"""Create, list and revoke API keys. With --offline, create one in the database without a server."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import msgspec

from tickwork.access.api_keys import ApiKeys
from tickwork.cli.option_types import duration
from tickwork.cli.output import Columns, output_option, say, show_item
from tickwork.cli.print_or_watch_answer import prints_item, prints_page
from tickwork.cli.settings_and_client import open_client, read_settings, server_option, with_client
from tickwork.cli.wait_for_database import readable_postgres_errors
from tickwork.client.argument_types import NewKey
from tickwork.client.sync_client import Client
from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.model.access import KeyView, Scope
from tickwork.model.errors import WrongSchema
from tickwork.model.field_types import Page
from tickwork.store.embedded.server import reached
from tickwork.store.migrate import status
from tickwork.store.pool import Database
from tickwork.store.tenant_and_key_store import PostgresAccessStore


def create_key_offline(
    settings: Settings, name: str, scopes: Sequence[str], tenant: str | None, expires_at: datetime | None
) -> NewKey:
    configure_logs(settings.log_format, settings.log_level)  # keep logs out of the output
    with readable_postgres_errors(), _database_url(settings) as url:
        return asyncio.run(_create_key(url, name, [Scope(scope) for scope in scopes], tenant, expires_at))


@contextmanager
def _database_url(settings: Settings) -> Iterator[str]:
    if settings.database_url:
        yield settings.database_url
        return
    with reached(settings.data_dir) as postgres:
        yield postgres.url


async def _create_key(
    url: str, name: str, scopes: Sequence[Scope], tenant: str | None, expires_at: datetime | None
) -> NewKey:
    if (await status(url)).pending:
        raise WrongSchema(
            "the database is not up to date", "run `tickwork db upgrade`, or start a server on it"
        )
    database = Database(url, size=1)
    await database.open()
    try:
        keys = ApiKeys(PostgresAccessStore(database))
        view, secret = await keys.create(await keys.operator(), name, scopes, tenant, expires_at)
    finally:
        await database.close()
    return NewKey(**msgspec.structs.asdict(view), secret=secret)


_COLUMNS: Columns[KeyView] = {
    "id": lambda key: key.id,
    "name": lambda key: key.name,
    "tenant": lambda key: key.tenant,
    "begins": lambda key: key.prefix,
    "scopes": lambda key: key.scopes,
    "created": lambda key: key.created_at,
    "last used": lambda key: key.last_used_at,
    "expires": lambda key: key.expires_at,
    "revoked": lambda key: key.revoked_at,
}


@click.group()
def command() -> None:
    """Create, list and revoke API keys."""


@command.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope]),
    multiple=True,
    required=True,
    help="What the key allows; can be repeated.",
)
@click.option("--tenant", help="The tenant of the key.  [default: your own]")
@click.option(
    "--expires-in", type=duration, metavar="DURATION", help="How long the key is valid, such as 90d."
)
@click.option(
    "--offline",
    is_flag=True,
    help="Write the key directly to the database, without a server or an existing key.",
)
@click.option("--database-url", metavar="URL", help="With --offline: postgresql://user:password@host/name")
@click.option("--data-dir", metavar="FOLDER", help="With --offline: the data folder of `tickwork up`.")
@server_option
@output_option
def create(
    expires_in: timedelta | None,
    offline: bool,
    database_url: str | None,
    data_dir: str | None,
    server: str | None,
    output: str,
    **request: Any,
) -> None:
    """Create a key. Its secret is printed once and not stored.

    If no admin key is left, use --offline with access to the database, whether a server is running or not.
    """
    expires_at = datetime.now(UTC) + expires_in if expires_in else None
    if offline:
        if server:
            raise click.UsageError("--offline uses no server: remove --server")
        settings, _ = read_settings(database_url=database_url, data_dir=data_dir)
        if data_dir and not database_url:
            settings = msgspec.structs.replace(settings, database_url=None)
        key = create_key_offline(settings, **request, expires_at=expires_at)
    else:
        if database_url or data_dir:
            raise click.UsageError("--database-url and --data-dir go with --offline")
        with open_client(server) as client:
            key = client.create_key(**request, expires_at=expires_at)
    show_item(key, {**_COLUMNS, "secret": lambda key: key.secret}, output)
    say("keep the secret: it cannot be shown again")


@command.command("list")
@prints_page(_COLUMNS)
def list_(client: Client) -> Page[KeyView]:
    """List keys, without their secrets."""
    return client.list_keys()


@command.command()
@click.argument("key_id", metavar="ID")
@prints_item(_COLUMNS)
def revoke(client: Client, key_id: str) -> KeyView:
    """Revoke a key at once."""
    return client.revoke_key(key_id)


@command.command("signing-secret")
@with_client
def signing_secret(client: Client) -> None:
    """Print the secret that signs the HTTP calls of your tenant."""
    click.echo(client.get_signing_secret().secret)
