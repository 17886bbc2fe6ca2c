"""Upgrade the database, or see where it stands."""

import asyncio
from typing import Any

import click

from tickwork.cli.connect import read_settings
from tickwork.cli.database import as_refused, require_database
from tickwork.cli.output import Columns, output_option, say, show_item
from tickwork.store.migrate import status, upgrade

_FIELDS: Columns[dict[str, Any]] = {
    "current": lambda found: found["current"],
    "latest": lambda found: found["latest"],
    "pending": lambda found: "\n".join(found["pending"]),
}
_DATABASE_URL = click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")


@click.group()
def command() -> None:
    """Upgrade the database, or see where it stands."""


@command.command("upgrade")
@_DATABASE_URL
def upgrade_(database_url: str | None) -> None:
    """Bring the database to the schema of this version. Safe to repeat, also on several nodes at once."""
    with as_refused():
        for name in asyncio.run(upgrade(_url(database_url))):
            say(f"applied {name}")
    say("the database is up to date")


@command.command("status")
@_DATABASE_URL
@output_option
def status_(database_url: str | None, output: str) -> None:
    """Which schema the database has, and what is still to be applied."""
    with as_refused():
        show_item(asyncio.run(status(_url(database_url)))._asdict(), _FIELDS, output)


def _url(given: str | None) -> str:
    return require_database(read_settings(database_url=given)[0])
