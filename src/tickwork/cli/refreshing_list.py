"""Lists with --watch: redrawn in place on a terminal; otherwise new and changed items are printed."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from time import sleep
from typing import Any

import click
import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tickwork.cli.output import Columns, Item, print_json, show_page, table_lines
from tickwork.model.errors import Unavailable
from tickwork.model.page import Page

_EVERY = 2.0
_LEAST, _MOST = 0.2, 3600.0
_ALWAYS_NEW = {"heartbeat_at", "lease_until", "oldest_age"}  # changes of these alone are not shown

watch_option = click.option(
    "--watch",
    is_flag=False,
    flag_value=_EVERY,
    type=click.FloatRange(_LEAST, _MOST),
    metavar="[SECONDS]",
    help=f"Refresh every SECONDS, {_EVERY:g} by default; Ctrl-C stops it.",
)


def show_list(
    look: Callable[[], Page[Item]], columns: Columns[Item], output: str, every: float | None
) -> None:
    if every is None:
        return show_page(look(), columns, output)
    with suppress(KeyboardInterrupt):
        if output == "table" and sys.stdout.isatty():
            _redraw(look, columns, every)
        else:
            _print_news(look, columns, output, every)
    return None


def _redraw(look: Callable[[], Page[Item]], columns: Columns[Item], every: float) -> None:
    with Live(console=Console(), auto_refresh=False, vertical_overflow="ellipsis") as live:
        while True:
            live.update(Group(_drawn(look, columns), _footer(every)), refresh=True)
            sleep(every)


def _drawn(look: Callable[[], Page[Item]], columns: Columns[Item]) -> Text:
    """One line per row, however narrow the terminal is."""
    try:
        items = look().items
    except Unavailable as error:  # it may come back
        return one_line_each([str(error)])
    return one_line_each(table_lines(items, columns) if items else ["nothing found"])


def one_line_each(lines: list[str]) -> Text:
    text = Text.from_ansi("\n".join(lines))
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _footer(every: float) -> Text:
    return Text(f"{datetime.now().astimezone():%H:%M:%S}, every {every:g} s; Ctrl-C stops it", style="dim")


def _print_news(look: Callable[[], Page[Item]], columns: Columns[Item], output: str, every: float) -> None:
    """Rows of a table, or JSON lines."""
    known: Mapping[object, Any] = {}
    begun = False
    while True:
        with suppress(Unavailable):
            items = look().items
            news = [item for item in items if known.get(_identity(item)) != _lasting(item)]
            known = {_identity(item): _lasting(item) for item in items}
            if output != "table":
                print_json(news, "jsonl")
            elif news:
                for line in table_lines(news, columns)[begun:]:
                    click.echo(line)
                begun = True
            sys.stdout.flush()
        sleep(every)


def _identity(item: Any) -> object:
    """The first field of an item, which identifies it in its list."""
    return getattr(item, item.__struct_fields__[0])


def _lasting(item: Any) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(item).items() if name not in _ALWAYS_NEW}
