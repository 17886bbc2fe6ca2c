"""A command's settings, and its way to the server."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click
import msgspec

from tickwork.access.api_keys import make_secret
from tickwork.client.server_address import KEY_FILE, SERVER_FILE, Address, LocalServer, find_server
from tickwork.client.sync_client import Client
from tickwork.config import CONFIG_FILE, Settings, Sources, load_settings
from tickwork.model.errors import TickworkError
from tickwork.store.embedded.private_access import create_private, own_folder

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
        with open_client(server) as client:
            command(client, *args, **kwargs)

    return connected


_KEY_DRAFT = f"{KEY_FILE}.new"


def make_folder(folder: Path) -> None:
    """Nobody else may look inside, and it never ends up in a repository."""
    try:
        own_folder(folder)
        (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise TickworkError(
            f"cannot write to the data folder {folder} ({error.strerror}); choose another with --data-dir"
        ) from None


def draft_key(folder: Path) -> str:
    """The key for a database that may be new: written down before the database has it, else a kill in between would
    leave a database that nobody can enter."""
    file = folder / _KEY_DRAFT
    if not file.exists():
        _write_secret(file, make_secret())
    return file.read_text("ascii").strip()


def keep_key(folder: Path, key: str) -> Path:
    """The key of another database is put aside, not lost."""
    file = folder / KEY_FILE
    if not file.exists() or file.read_text().strip() != key:
        if file.exists():
            file.replace(folder / f"{KEY_FILE}.old")
        _write_secret(file, key)
    return file


def drop_draft(folder: Path) -> None:
    (folder / _KEY_DRAFT).unlink(missing_ok=True)


def _write_secret(file: Path, secret: str) -> None:
    """For the owner's eyes from the first byte on, and whole or not at all."""
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    with create_private(part) as out:
        out.write(f"{secret}\n".encode("ascii"))
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)


def read_key(folder: Path) -> str:
    file = folder / KEY_FILE
    try:
        file.chmod(0o600)  # whatever put it back there
        return file.read_text("ascii").strip()
    except (OSError, ValueError):
        raise TickworkError(
            f"the admin key cannot be read from {file}; put it back there, or another one, made with "
            f"`tickwork key create NAME --scope admin --offline --data-dir {folder}`"
        ) from None


@contextmanager
def announced(folder: Path, url: str) -> Iterator[None]:
    """Let clients on this machine find the server while it runs."""
    file, draft = folder / SERVER_FILE, folder / f"{SERVER_FILE}.new"
    draft.write_bytes(msgspec.json.encode(LocalServer(url, os.getpid())))
    draft.replace(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
