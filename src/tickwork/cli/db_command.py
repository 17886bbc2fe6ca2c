"""Upgrade, check, back up and restore the database, and keep space for it."""

import asyncio
import shlex
from datetime import timedelta
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
from tickwork.model.public_ids import job_id
from tickwork.model.quantities import format_duration, format_size, parse_size
from tickwork.store.cluster_pause_store import note_backup
from tickwork.store.embedded.backup_and_restore import back_up, restore
from tickwork.store.embedded.disk_reserve_file import make_reserve, release_reserve
from tickwork.store.migrate import status, upgrade
from tickwork.store.migration_file import migrations
from tickwork.store.prepare_restored_database import PreparedDatabase, prepare_restored

_FIELDS: Columns[dict[str, Any]] = {
    "current": lambda found: found["current"],
    "latest": lambda found: found["latest"],
    "pending": lambda found: "\n".join(found["pending"]),
    "under way": lambda found: "\n".join(found["under_way"]),
}
_DATABASE_URL = click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
_DATA_DIR = click.option(
    "--data-dir", metavar="FOLDER", help="The data folder of `tickwork up`.  [default: .tickwork]"
)


_HOW_TO_GO_ON = (
    "the cluster is paused: `tickwork cluster report` shows what would run, `tickwork cluster resume` goes on"
)


@click.group()
def command() -> None:
    """Upgrade, check, back up and restore the database."""


@command.command("upgrade")
@_DATABASE_URL
@wait_option
@click.option(
    "--allow-older-nodes",
    is_flag=True,
    help="Go on even if servers are running that cannot work with the new schema: they will fail.",
)
def upgrade_(allow_older_nodes: bool, **flags: object) -> None:
    """Upgrade the database to the schema of this version, while servers use it.

    Safe to interrupt and to repeat, even on several nodes at once. What takes long goes on where it was. Refuses while
    servers are running that are too old for the new schema.
    """
    for name in asyncio.run(_upgrade(_settings(**flags), allow_older_nodes)):
        say(f"applied {name}")
    say("the database is up to date")


@command.command("status")
@_DATABASE_URL
@output_option
def status_(database_url: str | None, output: str) -> None:
    """Show the schema version of the database, the pending migrations, and how far those under way have come."""
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
            lambda url, at: asyncio.run(note_backup(url, at)),
            force=force,
            tell=say,
        )
    say(f"{file} has the database as of {backup_info.created_at:%Y-%m-%d %H:%M:%S} UTC, and its admin key")


@command.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@_DATA_DIR
def restore_(file: Path, data_dir: str | None) -> None:
    """Create a new data folder from a backup, completely or not at all.

    It is paused, and no id is issued twice: see `tickwork db after-restore`.
    """
    folder = _embedded_data_dir("restore", data_dir)

    def prepare(url: str) -> None:
        asyncio.run(prepare_restored(url, is_ours_alone=True))

    with readable_postgres_errors():
        backup_info = restore(file, folder, KEY_FILE, migrations()[-1].number, prepare, tell=say)
    say(f"{folder} has the database as of {backup_info.created_at:%Y-%m-%d %H:%M:%S} UTC; start it with:")
    say(f"  tickwork up --data-dir {shlex.quote(str(folder))}")
    say(_HOW_TO_GO_ON)


@command.command("after-restore")
@_DATABASE_URL
@wait_option
def after_restore(**flags: object) -> None:
    """Prepare a database that was restored or promoted, before a server uses it.

    Moves all ids on, so that none is issued twice. Ends the leases of workers of before, signs all browsers out, and
    pauses the cluster. Refuses while servers run on the database. Safe to repeat.
    """
    prepared = asyncio.run(_prepare_restored(_settings(**flags)))
    gap = format_duration(timedelta(seconds=round((prepared.now - prepared.data_until).total_seconds())))
    say(f"the database has data until {prepared.data_until:%Y-%m-%d %H:%M:%S} UTC, {gap} ago")
    say(f"the next job is after {job_id(prepared.last_ids['job_id'])}, and all other ids moved on, too")
    say(_HOW_TO_GO_ON)


@command.command("reserve")
@click.argument("size")
@_DATA_DIR
def reserve_(size: str, data_dir: str | None) -> None:
    """Put a file of SIZE, such as 512MB, into the data folder, to be deleted when the disk is full.

    PostgreSQL does not start without space for its log. `tickwork db release` gives it this one.
    """
    folder = _embedded_data_dir("reserve", data_dir)
    try:
        wanted = int(parse_size(size))
    except ValueError as error:
        raise Invalid.field("size", str(error), "write a size such as 512MB") from None
    file = make_reserve(folder, wanted)
    say(f"{file} takes {format_size(wanted)}; if the disk is full, delete it: tickwork db release")


@command.command("release")
@_DATA_DIR
def release(data_dir: str | None) -> None:
    """Delete the reserve file of the data folder, because the disk is full."""
    folder = _embedded_data_dir("release", data_dir)
    size = release_reserve(folder)
    if not size:
        raise Invalid.field(
            "data_dir", f"{folder} has no reserve file", "make one with: tickwork db reserve 512MB"
        )
    say(f"{format_size(size)} are free again; PostgreSQL goes on by itself")


def _embedded_data_dir(verb: str, data_dir: str | None) -> Path:
    settings, _ = read_settings(data_dir=data_dir)
    if settings.database_url and data_dir is None:
        tool = {"backup": "pg_dump or pg_basebackup", "restore": "pg_restore"}.get(verb)
        instead = f": use {tool} for your own" if tool else ""
        raise Invalid.field(
            "database_url",
            f"is set, but this command is for the embedded database of `tickwork up`{instead}",
            "or name a data folder with --data-dir",
        )
    return settings.data_dir


async def _upgrade(settings: Settings, allow_older_nodes: bool) -> list[str]:
    url = require_database(settings)
    apply = partial(upgrade, url, progress=_say_progress, allow_older_nodes=allow_older_nodes)
    return await retry_until_reachable(apply, settings.wait_for_database, StopRequest())


def _say_progress(name: str, said: str) -> None:
    say(f"{name}: {said}")


async def _prepare_restored(settings: Settings) -> PreparedDatabase:
    url = require_database(settings)
    return await retry_until_reachable(
        partial(prepare_restored, url), settings.wait_for_database, StopRequest()
    )


def _settings(**flags: object) -> Settings:
    settings, _ = read_settings(**flags)
    configure_logs(settings.log_format, settings.log_level)  # keep logs out of the output
    return settings
