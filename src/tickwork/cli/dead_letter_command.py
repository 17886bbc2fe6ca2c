"""Inspect, redrive and discard executions that failed for good."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tickwork.cli.exit_codes import CONFLICT, NOT_FOUND
from tickwork.cli.option_types import past
from tickwork.cli.output import Columns, output_option, page_options, say, show_item
from tickwork.cli.print_or_watch_answer import prints_list
from tickwork.cli.settings_and_client import with_client
from tickwork.client.sync_client import Client
from tickwork.model.dead_letter import DeadLetterView, Discarded, Redriven
from tickwork.model.field_types import Page
from tickwork.model.quantities import parse_rate

Command = TypeVar("Command", bound=Callable[..., Any])

_MOST_COUNTED = 500  # for the confirmation prompt


def _why(letter: DeadLetterView) -> str | None:
    return f"{letter.error.type}: {letter.error.message}" if letter.error else letter.reason


_COLUMNS: Columns[DeadLetterView] = {
    "id": lambda letter: letter.id,
    "job": lambda letter: letter.job_name or letter.job_key or letter.job_id,
    "task": lambda letter: letter.task,
    "scheduled for": lambda letter: letter.scheduled_for,
    "failed": lambda letter: letter.failed_at,
    "attempts": lambda letter: letter.attempts,
    "why": _why,
}
REDRIVE_FIELDS: Columns[Redriven] = {
    "redriven": lambda result: result.redriven,
    "last ready": lambda result: result.last_at,
}
DISCARD_FIELDS: Columns[Discarded] = {"discarded": lambda result: result.discarded}

_FILTERS = (
    click.option("--task"),
    click.option("--queue"),
    click.option("--job", metavar="JOB", help="Only of this job: its id, or key:NAME."),
    click.option("--error", metavar="TYPE", help="Such as ValueError, Http503, Timeout or WorkerLost."),
    click.option("--fingerprint", help="Only of this cause, as `tickwork errors list` shows it."),
    click.option(
        "--since",
        type=past,
        metavar="TIME|AGE",
        help="Failed no earlier than: 2026-01-31T09:00, or 2h (ago).",
    ),
    click.option("--until", type=past, metavar="TIME|AGE", help="Failed no later than."),
)


def _filters(command: Command) -> Command:
    for option in reversed(_FILTERS):
        command = option(command)
    return command


def _selection_options(command: Command) -> Command:
    """The ids of dead letters, or options that select them."""
    ids = click.argument("ids", nargs=-1, metavar="[ID]...")
    every = click.option("--all", "every", is_flag=True, help="All dead letters.")
    yes = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
    return ids(_filters(every(yes(command))))


def rate(text: str) -> str:
    try:
        parse_rate(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return text


@click.group()
def command() -> None:
    """Inspect, redrive and discard executions that failed for good."""


@command.command("list")
@_filters
@page_options
@prints_list(_COLUMNS)
def list_(client: Client, **filters: Any) -> Page[DeadLetterView]:
    """List dead letters, latest failure first. `tickwork execution get ID` shows the traceback."""
    return client.list_dead_letters(**filters)


@command.command()
@_selection_options
@click.option("--rate", type=rate, metavar="COUNT/TIME", help="How many to start in a period: 10/s, 100/1m.")
@click.option("--max", type=click.IntRange(1), help="How many at most, oldest failures first.")
@output_option
@with_client
def redrive(client: Client, output: str, rate: str | None, max: int | None, **selection: Any) -> None:  # noqa: A002
    """Run dead letters again: the same executions, with new attempts.

    \b
    tickwork dead-letter redrive e5-1k0avmtt23w
    tickwork dead-letter redrive --task billing.charge --since 2h --rate 100/1m
    """
    confirmed = _confirmed(client, "redrive", selection)
    result = client.redrive_dead_letters(**confirmed, rate=rate, max=max)
    show_item(result, REDRIVE_FIELDS, output)
    for refused in result.refused:
        say(f"{refused.id} stays: {refused.reason}")
    _say_not_found(result.not_found)
    if result.not_found or (result.refused and confirmed["ids"]):
        raise click.exceptions.Exit(NOT_FOUND if result.not_found else CONFLICT)


@command.command()
@_selection_options
@output_option
@with_client
def discard(client: Client, output: str, **selection: Any) -> None:
    """Discard dead letters. They stay in the history as failed.

    \b
    tickwork dead-letter discard e5-1k0avmtt23w
    tickwork dead-letter discard --error ValueError --until 7d
    """
    result = client.discard_dead_letters(**_confirmed(client, "discard", selection))
    show_item(result, DISCARD_FIELDS, output)
    _say_not_found(result.not_found)
    if result.not_found:
        raise click.exceptions.Exit(NOT_FOUND)


def _confirmed(client: Client, action: str, selection: dict[str, Any]) -> dict[str, Any]:
    """The given ids or filter, after the user has confirmed."""
    ids, every, yes = (selection.pop(name) for name in ("ids", "every", "yes"))
    filters = {name: value for name, value in selection.items() if value is not None}
    if sum(map(bool, (ids, every, filters))) != 1:
        raise click.UsageError(f"choose what to {action}: ids, or options such as --task, or --all")
    if not yes:
        _confirm(action, len(ids), "") if ids else _confirm(action, *_count(client, filters))
    return {"ids": list(ids), "filter": None} if ids else {"ids": None, "filter": filters}


def _count(client: Client, filters: dict[str, Any]) -> tuple[int, str]:
    page = client.list_dead_letters(**filters, limit=_MOST_COUNTED)
    return len(page.items), " or more" if page.next_cursor else ""


def _confirm(action: str, count: int, more: str) -> None:
    if count > 1 or more:
        click.confirm(f"{action.capitalize()} {count}{more} dead letters?", abort=True, err=True)


def _say_not_found(ids: list[str]) -> None:
    for execution_id in ids:
        say(f"{execution_id} is not a dead letter")
