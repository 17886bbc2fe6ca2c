"""List, verify, query and restore archived days of history."""

import asyncio
import os
import sys
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tickwork.cli.output import Columns, output_option, print_json, print_table, say
from tickwork.cli.settings_and_client import read_settings
from tickwork.cli.wait_for_database import readable_postgres_errors
from tickwork.config import Settings
from tickwork.log_setup import configure_logs
from tickwork.model.archive import ArchiveDamaged, Manifest
from tickwork.model.errors import Invalid, NotFound, TickworkError
from tickwork.model.public_ids import parse_job_id
from tickwork.model.quantities import format_duration, parse_duration
from tickwork.store.embedded.server import reached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tickwork.record.archive.archive_storage import Location
    from tickwork.store.port.archive import RestoredExecution

_LONGEST = timedelta(days=366)
_URL = click.option(
    "--archive-url", metavar="URL", help="A folder or s3://bucket/prefix.  [default: TICKWORK_ARCHIVE_URL]"
)
_COLUMNS: Columns[dict[str, Any]] = {
    "part": lambda found: found["part"],
    "from": lambda found: found["from"][:10],
    "executions": lambda found: found["executions"],
    "attempts": lambda found: found["attempts"],
    "log lines": lambda found: found["logs"],
    "size": lambda found: f"{found['bytes'] / 1e6:,.2f} MB",
}


@click.group()
def command() -> None:
    """List, verify, query and restore archived days of history.

    Reads the archive itself, with no server: a folder, or a bucket with the usual AWS_* variables.
    """


@command.command("list")
@_URL
@output_option
def list_(archive_url: str | None, output: str) -> None:
    """List the archived days with their rows and sizes.

    A day has more than one part if executions of it ran again after it was archived.
    """
    with _archive(archive_url) as location:
        _show([_described(each) for each in _manifests(location)], _COLUMNS, output)


@command.command()
@_URL
@click.argument("day", type=click.DateTime(["%Y-%m-%d"]), required=False)
def verify(archive_url: str | None, day: datetime | None) -> None:
    """Read every file of the archive, or of one DAY, and compare rows and checksums with its manifest.

    Exits with 1 and names what is damaged or missing, and with 3 if nothing is archived there.
    """
    from tickwork.record.archive.part_files import verify_files

    damaged = 0
    with _archive(archive_url) as location:
        checked = _of_day(_manifests(location), day)
        for manifest in checked:
            try:
                verify_files(location, manifest)
            except (ArchiveDamaged, OSError) as error:
                damaged += 1
                say(f"damaged: {error}")
    if not checked:
        raise NotFound("archived day", "there: is it the archive_url of the servers?")
    if damaged:
        raise TickworkError(f"{damaged} of {len(checked)} parts are damaged: restore their files from a copy")
    say(f"{len(checked)} {'part is as it was' if len(checked) == 1 else 'parts are as they were'} written")


@command.command()
@click.argument("sql")
@_URL
@output_option
def query(sql: str, archive_url: str | None, output: str) -> None:
    """Answer SQL over the views executions, attempts, logs and checkpoints.

    \b
    tickwork archive query "SELECT job_name, count(*) FROM executions WHERE status = 'failed' GROUP BY 1"
    """
    import duckdb

    from tickwork.record.archive.read_archive import query as ask

    with _archive(archive_url) as location:
        try:
            answer = ask(location, _manifests(location), sql)
            names = answer.columns
            rows = [dict(zip(names, row, strict=True)) for row in answer.rows]
        except duckdb.Error as error:
            raise Invalid.field(
                "sql", str(error), "the views are executions, attempts, logs, checkpoints"
            ) from None
    _show(rows, {name: _column(name) for name in names}, output)


@command.command()
@_URL
@click.option("--database-url", metavar="URL", help="postgresql://user:password@host/name")
@click.option(
    "--day", type=click.DateTime(["%Y-%m-%d"]), help="Only executions that were due on this day, UTC."
)
@click.option("--job", metavar="ID", help="Only executions of this job.")
@click.option(
    "--keep", metavar="DURATION", default="7d", show_default=True, help="For how long the API shows them."
)
@click.option("--jsonl", is_flag=True, help="Print them as JSON lines, and leave the database alone.")
def restore(
    archive_url: str | None,
    database_url: str | None,
    day: datetime | None,
    job: str | None,
    keep: str,
    jsonl: bool,
) -> None:
    """Bring executions back, of a day or a job, to look at them.

    The API shows them again by their ids, with attempts, input and log, until --keep is over. They are only shown:
    nothing runs them, and lists and statistics do not have them. Safe to repeat.
    """
    if day is None and job is None:
        raise Invalid.field(
            "day", "is not given", "say which executions: --day 2026-01-31, --job ID, or both"
        )
    if job is not None:
        parse_job_id(job)
    period = _period(keep)
    with _archive(archive_url) as location:
        from tickwork.record.archive.read_archive import executions

        found = _of_day(_manifests(location), day)
        batches = executions(location, found, None if day is None else day.date(), job)
        if jsonl:
            for batch in batches:
                sys.stdout.writelines(_as_line(each) for each in batch)
            return
        with readable_postgres_errors(), _database(database_url) as url:
            count = asyncio.run(_keep(url, batches, period))
    what = "execution is" if count == 1 else "executions are"
    say(f"{count:,} {what} shown until {datetime.now(UTC) + period:%Y-%m-%d %H:%M} UTC")
    if not count:
        raise NotFound("archived execution", "of that day and job")


async def _keep(url: str, batches: "Iterator[list[RestoredExecution]]", period: timedelta) -> int:
    from tickwork.store.pool import Database
    from tickwork.store.restored_from_archive_store import PostgresRestoredStore

    database = Database(url, size=1)
    await database.open()
    try:
        store = PostgresRestoredStore(database)
        return sum([await store.keep(batch, period) for batch in batches])
    finally:
        await database.close()


@contextmanager
def _database(url: str | None) -> "Iterator[str]":
    """The one that is given, or that of `tickwork up`, whether it runs or not."""
    settings, _ = read_settings(database_url=url)
    if settings.database_url:
        yield settings.database_url
    else:
        with reached(settings.data_dir) as postgres:
            yield postgres.url


@contextmanager
def _archive(url: str | None) -> "Iterator[Location]":
    """Opens the archive, and turns what its store says into a message."""
    settings, _ = read_settings(archive_url=url)
    configure_logs(settings.log_format, settings.log_level)
    try:
        yield _open(settings)
    except ArchiveDamaged as error:
        raise TickworkError(f"the archive is damaged: {error}") from None
    except OSError as error:
        raise TickworkError(f"the archive cannot be read: {error}") from None


def _open(settings: Settings) -> "Location":
    if settings.archive_url is None:
        raise Invalid.field("archive_url", "is not set", "give --archive-url or set TICKWORK_ARCHIVE_URL")
    try:
        from tickwork.record.archive import read_archive  # noqa: F401 (whether the extra is there)
        from tickwork.record.archive.archive_storage import open_location
    except ImportError as error:
        raise Invalid.field(
            "archive_url", f"needs {error.name}, which is not installed", "pip install 'tickwork[archive]'"
        ) from None
    return open_location(settings.archive_url, os.environ)


def _manifests(location: "Location") -> list[Manifest]:
    from tickwork.record.archive.read_archive import manifests

    return manifests(location)


def _of_day(found: list[Manifest], day: datetime | None) -> list[Manifest]:
    from tickwork.record.archive.read_archive import parts_of_day

    if day is None:
        return found
    wanted: date = day.date()
    parts = parts_of_day(found, wanted)
    if not parts:
        raise NotFound("archived day", f"{wanted}: `tickwork archive list` shows those that there are")
    return parts


def _described(manifest: Manifest) -> dict[str, Any]:
    return {
        "part": manifest.part,
        "from": manifest.begin.isoformat(),
        "to": manifest.end.isoformat(),
        "executions": manifest.rows("executions"),
        "attempts": manifest.rows("attempts"),
        "logs": manifest.rows("logs"),
        "checkpoints": manifest.rows("checkpoints"),
        "bytes": manifest.bytes,
    }


def _show(rows: list[dict[str, Any]], columns: Columns[dict[str, Any]], output: str) -> None:
    if output == "table":
        print_table(rows, columns)
    else:
        print_json(rows if output == "jsonl" else [rows], output)


def _column(name: str) -> Any:
    return lambda row: row[name]


def _period(text: str) -> timedelta:
    try:
        period = parse_duration(text)
    except ValueError:
        period = timedelta()
    if not timedelta() < period <= _LONGEST:
        raise Invalid.field("keep", f"{text!r} is no duration up to {format_duration(_LONGEST)}", "write 7d")
    return period


def _as_line(restored: "RestoredExecution") -> str:
    shown = {
        "tenant_id": restored.key.tenant_id,
        "execution": restored.execution,
        "attempts": restored.attempts,
        "input": restored.input,
        "log": restored.log,
    }
    return msgspec.json.encode(shown).decode() + "\n"
