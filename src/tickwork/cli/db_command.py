"""Upgrade, check, back up and restore the database."""

import asyncio
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import click

from tickwork import __version__
from tickwork.cli.output import Columns, output_option, say, show_item
from tickwork.cli.run_until_stopped import StopRequest
from tickwork.cli.settings_and_client import read_settings
from tickwork.cli.wait_for_database import (
    readable_postgres_errors,
    require_database,
    retry_until_reachable,
    wait_option,
)
from tickwork.client.find_server import KEY_FILE
from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.model.errors import Invalid
from tickwork.store.embedded.backup_and_restore import back_up, restore
from tickwork.store.migrate import migrations, status, upgrade

_FIELDS: Columns[dict[str, Any]] = {
    "current": lambda found: found["current"],
    "latest": lambda found: found["latest"],
    "pending": lambda found: "\n".join(found["pending"]),
}
_DATABASE_URL = click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
_DATA_DIR = click.option(
    "--data-dir", metavar="FOLDER", help="The data folder of `tickwork up`.  [default: .tickwork]"
)


@click.group()
def command() -> None:
    """Upgrade, check, back up and restore the database."""


@command.command("upgrade")
@_DATABASE_URL
@wait_option
def upgrade_(**flags: object) -> None:
    """Upgrade the database to the schema of this version. Safe to repeat, even on several nodes at once."""
    for name in asyncio.run(_upgrade(_settings(**flags))):
        say(f"applied {name}")
    say("the database is up to date")


@command.command("status")
@_DATABASE_URL
@output_option
def status_(database_url: str | None, output: str) -> None:
    """Show the schema version of the database and the pending migrations."""
    with readable_postgres_errors():
        url = require_database(_settings(database_url=database_url))
        show_item(asyncio.run(status(url))._asdict(), _FIELDS, output)


@command.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_DATA_DIR
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
def backup(file: Path, data_dir: str | None, force: bool) -> None:
    """Back up the database of `tickwork up` and its admin key to one FILE, whether it runs or not.

    The file gives full access: protect it as you protect the key.
    """
    folder = _embedded_data_dir("backup", data_dir)
    with readable_postgres_errors():
        backup_info = back_up(
            folder,
            KEY_FILE,
            file,
            __version__,
            lambda url: asyncio.run(status(url)).current,
            force=force,
            tell=say,
        )
    say(f"{file} has the database as of {backup_info.created_at:%Y-%m-%d %H:%M:%S} UTC, and its admin key")


@command.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@_DATA_DIR
def restore_(file: Path, data_dir: str | None) -> None:
    """Create a new data folder from a backup, completely or not at all."""
    folder = _embedded_data_dir("restore", data_dir)
    with readable_postgres_errors():
        backup_info = restore(file, folder, KEY_FILE, migrations()[-1].number, tell=say)
    say(f"{folder} has the database as of {backup_info.created_at:%Y-%m-%d %H:%M:%S} UTC; start it with:")
    say(f"  tickwork up --data-dir {shlex.quote(str(folder))}")


def _embedded_data_dir(verb: str, data_dir: str | None) -> Path:
    settings, _ = read_settings(data_dir=data_dir)
    if settings.database_url and data_dir is None:
        tool = {"backup": "pg_dump or pg_basebackup", "restore": "pg_restore"}[verb]
        raise Invalid.field(
            "database_url",
            f"is set, but this command is for the embedded database of `tickwork up`: use {tool} for your own",
            "or name a data folder with --data-dir",
        )
    return settings.data_dir


async def _upgrade(settings: Settings) -> list[str]:
    url = require_database(settings)
    return await retry_until_reachable(partial(upgrade, url), settings.wait_for_database, StopRequest())


def _settings(**flags: object) -> Settings:
    settings, _ = read_settings(**flags)
    configure_logs(settings.log_format, settings.log_level)  # keep logs out of the output
    return settings
