"""Inspect, redrive and discard executions that failed for good."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tickwork.cli.exit_codes import CONFLICT, NOT_FOUND
from tickwork.cli.find_server import with_client
from tickwork.cli.option_types import past
from tickwork.cli.output import Columns, output_option, page_options, say, show_item
from tickwork.cli.refreshing_list import show_list, watch_option
from tickwork.client.sync_client import Client
from tickwork.model.dead_letter import DeadLetterView, Discarded, Redriven
from tickwork.model.quantities import parse_rate

Command = TypeVar("Command", bound=Callable[..., Any])

_COUNTED = 500  # at most, for the confirmation prompt


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
_REDRIVEN: Columns[Redriven] = {
    "redriven": lambda done: done.redriven,
    "last ready": lambda done: done.last_at,
}
_DISCARDED: Columns[Discarded] = {"discarded": lambda done: done.discarded}

_FILTERS = (
    click.option("--task"),
    click.option("--queue"),
    click.option("--job", metavar="JOB", help="Only of this job: its id, or key:NAME."),
    click.option("--error", metavar="TYPE", help="Such as ValueError, Http503, Timeout or WorkerLost."),
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


def _choice(command: Command) -> Command:
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
@watch_option
@output_option
@with_client
def list_(client: Client, output: str, watch: float | None, **filters: Any) -> None:
    """List dead letters, latest failure first. `tickwork execution get ID` shows the traceback."""
    show_list(lambda: client.list_dead_letters(**filters), _COLUMNS, output, watch)


@command.command()
@_choice
@click.option("--rate", type=rate, metavar="COUNT/TIME", help="How many to start in a period: 10/s, 100/1m.")
@click.option("--max", type=click.IntRange(1), help="How many at most, oldest failures first.")
@output_option
@with_client
def redrive(client: Client, output: str, rate: str | None, max: int | None, **choice: Any) -> None:  # noqa: A002
    """Run dead letters again: the same executions, with new attempts.

    \b
    tickwork dead-letter redrive e5-1k0avmtt23w
    tickwork dead-letter redrive --task billing.charge --since 2h --rate 100/1m
    """
    chosen = _chosen(client, "redrive", choice)
    done = client.redrive_dead_letters(**chosen, rate=rate, max=max)
    show_item(done, _REDRIVEN, output)
    for refused in done.refused:
        say(f"{refused.id} stays: {refused.reason}")
    _say_not_found(done.not_found)
    if done.not_found or (done.refused and chosen["ids"]):
        raise click.exceptions.Exit(NOT_FOUND if done.not_found else CONFLICT)


@command.command()
@_choice
@output_option
@with_client
def discard(client: Client, output: str, **choice: Any) -> None:
    """Discard dead letters. They stay in the history as failed.

    \b
    tickwork dead-letter discard e5-1k0avmtt23w
    tickwork dead-letter discard --error ValueError --until 7d
    """
    done = client.discard_dead_letters(**_chosen(client, "discard", choice))
    show_item(done, _DISCARDED, output)
    _say_not_found(done.not_found)
    if done.not_found:
        raise click.exceptions.Exit(NOT_FOUND)


def _chosen(client: Client, deed: str, choice: dict[str, Any]) -> dict[str, Any]:
    """The given ids or filter, after the user has confirmed."""
    ids, every, yes = (choice.pop(name) for name in ("ids", "every", "yes"))
    filters = {name: value for name, value in choice.items() if value is not None}
    if sum(map(bool, (ids, every, filters))) != 1:
        raise click.UsageError(f"choose what to {deed}: ids, or options such as --task, or --all")
    if not yes:
        _ask(deed, len(ids), "") if ids else _ask(deed, *_count(client, filters))
    return {"ids": list(ids), "filter": None} if ids else {"ids": None, "filter": filters}


def _count(client: Client, filters: dict[str, Any]) -> tuple[int, str]:
    page = client.list_dead_letters(**filters, limit=_COUNTED)
    return len(page.items), " or more" if page.next_cursor else ""


def _ask(deed: str, count: int, more: str) -> None:
    if count > 1 or more:
        click.confirm(f"{deed.capitalize()} {count}{more} dead letters?", abort=True, err=True)


def _say_not_found(ids: list[str]) -> None:
    for name in ids:
        say(f"{name} is not a dead letter")
