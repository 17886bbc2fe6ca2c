"""Inspect failures by cause; redrive or discard all of one cause."""

import click

from tickwork.cli.dead_letter_command import DISCARD_FIELDS, REDRIVE_FIELDS, rate
from tickwork.cli.output import Columns, output_option, page_options, show_item
from tickwork.cli.print_or_watch_answer import prints_list
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.error_group import ErrorGroupView
from tickwork.model.field_types import Page

_COLUMNS: Columns[ErrorGroupView] = {
    "fingerprint": lambda group: group.fingerprint,
    "task": lambda group: group.task,
    "error": lambda group: f"{group.type}: {group.message}" if group.message else group.type,
    "count": lambda group: group.count,
    "last hour": lambda group: group.last_hour or None,
    "dead letters": lambda group: group.dead_letters or None,
    "first seen": lambda group: group.first_seen,
    "last seen": lambda group: group.last_seen,
}
_FIELDS: Columns[ErrorGroupView] = {**_COLUMNS, "executions": lambda group: group.executions}


@click.group()
def command() -> None:
    """Inspect failures by cause; redrive or discard all of one cause."""


@command.command("list")
@click.option("--task", help="Only of this task.")
@click.option(
    "--error", metavar="TYPE", help="Only of this type: ValueError, Http503, Timeout or WorkerLost."
)
@page_options
@prints_list(_COLUMNS)
def list_(client: Client, **wanted: str | None) -> Page[ErrorGroupView]:
    """List failures grouped by cause, the cause seen last first.

    Failures have one cause if they agree in task, type of error, place in your code, and message apart from its
    numbers and ids.
    """
    return client.list_errors(**wanted)  # type: ignore[arg-type]


@command.command()
@click.argument("fingerprint")
@output_option
@with_client
def get(client: Client, fingerprint: str, output: str) -> None:
    """Show the failures of one cause, with its latest executions."""
    show_item(client.get_error(fingerprint), _FIELDS, output)


@command.command()
@click.argument("fingerprint")
@click.option("--rate", type=rate, metavar="COUNT/TIME", help="How many to start in a period: 10/s, 100/1m.")
@click.option("--max", "most", type=click.IntRange(1), help="How many at most, oldest failures first.")
@output_option
@with_client
def redrive(client: Client, fingerprint: str, rate: str | None, most: int | None, output: str) -> None:
    """Run all dead letters of one cause again: the same executions, with new attempts."""
    show_item(client.redrive_error(fingerprint, rate=rate, max=most), REDRIVE_FIELDS, output)


@command.command()
@click.argument("fingerprint")
@output_option
@with_client
def discard(client: Client, fingerprint: str, output: str) -> None:
    """Discard all dead letters of one cause. They stay in the history as failed."""
    show_item(client.discard_error(fingerprint), DISCARD_FIELDS, output)
