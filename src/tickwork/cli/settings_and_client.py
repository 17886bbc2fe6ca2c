"""The settings of a command, and the client that it sends requests with."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

from tickwork.cli.output import say
from tickwork.client.deprecation_warning import ApiDeprecationWarning
from tickwork.client.find_server import Address, find_server
from tickwork.client.sync_client import Client
from tickwork.config import CONFIG_FILE, Settings, Sources, load_settings

_RETRIES = 1  # few: a person is waiting at the terminal


def read_settings(**flags: object) -> tuple[Settings, Sources]:
    return load_settings(flags, os.environ, CONFIG_FILE if CONFIG_FILE.exists() else None)


def find_address(settings: Settings) -> Address:
    return find_server(settings.url, settings.api_key, settings.data_dir)


server_option = click.option(
    "--server",
    metavar="URL",
    help="The server.  [default: TICKWORK_URL, or the `tickwork up` of this folder]",
)


def open_client(server: str | None) -> Client:
    return Client(*find_address(read_settings(url=server)[0]), retries=_RETRIES)


def with_client(command: Callable[..., None]) -> Callable[..., None]:
    """Add --server to a command, and pass it a client as its first argument."""

    @server_option
    @wraps(command)
    def connected(*args: Any, server: str | None, **kwargs: Any) -> None:
        with open_client(server) as client, _deprecations_on_stderr():
            command(client, *args, **kwargs)

    return connected


@contextmanager
def _deprecations_on_stderr() -> Iterator[None]:
    """Say that a newer version of this command is needed, before the server no longer answers this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ApiDeprecationWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, ApiDeprecationWarning):
                say(f"warning: {message}")
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield
