"""Decorators for commands that send one request and print the answer: an item, a page, or a list with --watch."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from tickwork.cli.output import Columns, Item, output_option, show_item, show_page
from tickwork.cli.refreshing_list import show_list, watch_option
from tickwork.cli.settings_and_client import with_client
from tickwork.model.field_types import Page


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
