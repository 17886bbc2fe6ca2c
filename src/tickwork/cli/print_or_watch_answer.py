"""Decorators for commands that send one request and print the answer: an item, a page, or a list.

A list with --watch is redrawn in place on a terminal; otherwise new and changed items are printed.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import wraps
from time import sleep
from typing import Any

import click
import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tickwork.cli.output import Columns, Item, output_option, print_json, show_item, show_page, table_lines
from tickwork.cli.settings_and_client import with_client
from tickwork.model.errors import Unavailable
from tickwork.model.field_types import Page

_INTERVAL_DEFAULT = 2.0
_SHORTEST_INTERVAL, _LONGEST_INTERVAL = 0.2, 3600.0
_IGNORED_FIELDS = {"heartbeat_at", "lease_until", "oldest_age"}  # changes of these alone are not shown


watch_option = click.option(
    "--watch",
    is_flag=False,
    flag_value=_INTERVAL_DEFAULT,
    type=click.FloatRange(_SHORTEST_INTERVAL, _LONGEST_INTERVAL),
    metavar="[SECONDS]",
    help=f"Refresh every SECONDS, {_INTERVAL_DEFAULT:g} by default; Ctrl-C stops it.",
)


def show_list(
    fetch: Callable[[], Page[Item]], columns: Columns[Item], output: str, interval: float | None
) -> None:
    """Print the page once, or again after each interval (in seconds)."""
    if interval is None:
        return show_page(fetch(), columns, output)
    with suppress(KeyboardInterrupt):
        if output == "table" and sys.stdout.isatty():
            _redraw(fetch, columns, interval)
        else:
            _print_changes(fetch, columns, output, interval)
    return None


def _redraw(fetch: Callable[[], Page[Item]], columns: Columns[Item], interval: float) -> None:
    with Live(console=Console(), auto_refresh=False, vertical_overflow="ellipsis") as live:
        while True:
            live.update(Group(_table(fetch, columns), _footer(interval)), refresh=True)
            sleep(interval)


def _table(fetch: Callable[[], Page[Item]], columns: Columns[Item]) -> Text:
    try:
        items = fetch().items
    except Unavailable as error:  # the server may come back
        return unwrapped([str(error)])
    return unwrapped(table_lines(items, columns) if items else ["nothing found"])


def unwrapped(lines: list[str]) -> Text:
    """Cuts off lines that are wider than the terminal."""
    text = Text.from_ansi("\n".join(lines))
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _footer(interval: float) -> Text:
    now = datetime.now().astimezone()
    return Text(f"{now:%H:%M:%S}, every {interval:g} s; Ctrl-C stops it", style="dim")


def _print_changes(
    fetch: Callable[[], Page[Item]], columns: Columns[Item], output: str, interval: float
) -> None:
    """New and changed items, as rows of a table or as JSON lines."""
    known: Mapping[object, Any] = {}
    has_header = False
    while True:
        with suppress(Unavailable):
            items = fetch().items
            changed = [item for item in items if known.get(_identity(item)) != _compared_fields(item)]
            known = {_identity(item): _compared_fields(item) for item in items}
            if output != "table":
                print_json(changed, "jsonl")
            elif changed:
                for line in table_lines(changed, columns)[has_header:]:
                    click.echo(line)
                has_header = True
            sys.stdout.flush()
        sleep(interval)


def _identity(item: Any) -> object:
    """The first field of an item, which identifies it in its list."""
    return getattr(item, item.__struct_fields__[0])


def _compared_fields(item: Any) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(item)
    return {name: value for name, value in fields.items() if name not in _IGNORED_FIELDS}


def prints_item(fields: Columns[Item]) -> Callable[[Callable[..., Item]], Callable[..., None]]:
    """Pass a client to the command, and print the item that it returns. Adds --output and --server."""

    def decorate(command: Callable[..., Item]) -> Callable[..., None]:
        @output_option
        @with_client
        @wraps(command)
        def print_item(*args: Any, output: str, **options: Any) -> None:
            show_item(command(*args, **options), fields, output)

        return print_item

    return decorate


def prints_page(columns: Columns[Item]) -> Callable[[Callable[..., Page[Item]]], Callable[..., None]]:
    """Pass a client to the command, and print the page that it returns. Adds --output and --server."""

    def decorate(command: Callable[..., Page[Item]]) -> Callable[..., None]:
        @output_option
        @with_client
        @wraps(command)
        def print_page(*args: Any, output: str, **options: Any) -> None:
            show_page(command(*args, **options), columns, output)

        return print_page

    return decorate


def prints_list(columns: Columns[Item]) -> Callable[[Callable[..., Page[Item]]], Callable[..., None]]:
    """As `prints_page`, with --watch."""

    def decorate(command: Callable[..., Page[Item]]) -> Callable[..., None]:
        @watch_option
        @output_option
        @with_client
        @wraps(command)
        def print_list(*args: Any, output: str, watch: float | None, **options: Any) -> None:
            show_list(lambda: command(*args, **options), columns, output, watch)

        return print_list

    return decorate
