"""Data on stdout as a table, JSON or JSON lines; messages on stderr."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import TypeVar

import click
import msgspec
from rich.cells import cell_len

from tickwork.model.errors import printable
from tickwork.model.field_types import Page

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def brief(value: object) -> str:
    """For lists: one line, with times relative to now."""
    return " ".join(_text(value).split())


def full(value: object) -> str:
    """For single values: times are absolute, in the time zone of this machine, and relative."""
    if isinstance(value, datetime):
        return f"{absolute(value)} ({_text(value)})"
    return _text(value)


def as_json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def absolute(at: datetime) -> str:
    return at.astimezone().isoformat(" ", "seconds")


def relative(at: datetime, now: datetime) -> str:
    seconds = round((at - now).total_seconds())
    if seconds == 0:
        return "now"
    unit, size = next((unit, size) for unit, size in _UNITS if abs(seconds) >= size)
    amount = f"{abs(seconds) // size}{unit}"
    return f"in {amount}" if seconds > 0 else f"{amount} ago"


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return relative(value, datetime.now(UTC))
        case list() | tuple():
            return ", ".join(map(_text, value))
        case dict():
            return ", ".join(f"{name}={_text(item)}" for name, item in value.items())
        case _:
            return printable(str(value))  # names and errors come from outside


Item = TypeVar("Item")
Command = TypeVar("Command", bound=Callable[..., object])
Columns = Mapping[str, Callable[[Item], object]]  # the name of each column, and how to read it from an item

_COLOURS = {
    **dict.fromkeys(("active", "completed", "closed", "online", "ok", "success"), "green"),
    **dict.fromkeys(("pending", "running", "retry"), "cyan"),
    **dict.fromkeys(
        ("paused", "disabled", "draining", "skipped", "held", "half_open", "warn", "late"), "yellow"
    ),
    **dict.fromkeys(("failed", "lost", "open", "fail", "missing"), "red"),
    **dict.fromkeys(("cancelled", "offline", "retired"), "bright_black"),
}
_GAP = "  "

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "jsonl"]),
    default="table",
    show_default=True,
    help="The output format.",
)


def page_options(command: Command) -> Command:
    limit = click.option("--limit", type=click.IntRange(1, 500), help="How many at most.")
    cursor = click.option("--cursor", help="Continue after an earlier page.")
    return limit(cursor(command))


def say(message: str) -> None:
    click.echo(message, err=True)


def show_page(page: Page[Item], columns: Columns[Item], output: str) -> None:
    if output != "table":
        return print_json(page.items if output == "jsonl" else [page], output)
    if page.next_cursor and not page.items:
        say(f"nothing found so far: go on with --cursor {page.next_cursor}")
        return None
    print_table(page.items, columns)
    if page.next_cursor:
        say(f"there are more: add --cursor {page.next_cursor}")
    return None


def show_item(item: Item, fields: Columns[Item], output: str) -> None:
    if output != "table":
        return print_json([item], output)
    return print_fields({name: read(item) for name, read in fields.items()})


def print_table(items: Sequence[Item], columns: Columns[Item]) -> None:
    """Leaves out empty columns."""
    if not items:
        return say("nothing found")
    for line in table_lines(items, columns):
        click.echo(line)
    return None


def table_lines(items: Sequence[Item], columns: Columns[Item]) -> list[str]:
    cells = [[name.upper(), *(brief(read(item)) for item in items)] for name, read in columns.items()]
    filled = [column for column in cells if any(column[1:])]
    widths = [max(map(cell_len, column)) for column in filled]
    heads, *rows = zip(*filled, strict=True)
    return [click.style(_aligned(heads, widths), bold=True), *(_aligned(row, widths) for row in rows)]


def print_fields(fields: Mapping[str, object]) -> None:
    """One name and value per line. Leaves out empty values."""
    texts = {name: full(value) for name, value in fields.items()}
    width = max(map(len, texts))
    for name, text in texts.items():
        for label, line in zip_longest([name], text.splitlines(), fillvalue="") if text else ():
            click.echo(click.style(label.ljust(width), dim=True) + _GAP + coloured(line))


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        coloured(cell) + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)
    )
    return _GAP.join(padded).rstrip()


def coloured(text: str) -> str:
    return click.style(text, fg=_COLOURS[text]) if text in _COLOURS else text


def print_json(items: Iterable[object], output: str) -> None:
    for item in items:
        encoded = msgspec.json.encode(item)
        click.echo(encoded if output == "jsonl" else msgspec.json.format(encoded, indent=2))
