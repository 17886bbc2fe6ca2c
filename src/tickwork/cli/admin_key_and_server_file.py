"""The data folder of `tickwork up`: its admin key, and the file by which clients find the running server."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tickwork.access.api_keys import make_secret
from tickwork.client.find_server import KEY_FILE, SERVER_FILE, LocalServer
from tickwork.model.errors import TickworkError
from tickwork.store.embedded.private_access import create_private, own_folder

_PENDING_KEY_FILE = f"{KEY_FILE}.new"


def create_data_folder(folder: Path) -> None:
    """Only its owner can read it, and git ignores it."""
    try:
        own_folder(folder)
        (folder / ".gitignore").write_text("*\n")
    except OSError as error:
        raise TickworkError(
            f"cannot write to the data folder {folder} ({error.strerror}); choose another with --data-dir"
        ) from None


def pending_admin_key(folder: Path) -> str:
    """The admin key for a database that may be new. It is on disk before the database has it: otherwise a kill in
    between would leave a database without a known key."""
    file = folder / _PENDING_KEY_FILE
    if not file.exists():
        _write_secret(file, make_secret())
    return file.read_text("ascii").strip()


def save_admin_key(folder: Path, key: str) -> Path:
    """Keeps the key of another database as a backup file."""
    file = folder / KEY_FILE
    if not file.exists() or file.read_text().strip() != key:
        if file.exists():
            file.replace(folder / f"{KEY_FILE}.old")
        _write_secret(file, key)
    return file


def delete_pending_admin_key(folder: Path) -> None:
    (folder / _PENDING_KEY_FILE).unlink(missing_ok=True)


def _write_secret(file: Path, secret: str) -> None:
    """Only the owner can ever read the file, and it is written completely or not at all."""
    temporary = file.with_name(f"{file.name}.part")
    temporary.unlink(missing_ok=True)
    with create_private(temporary) as out:
        out.write(f"{secret}\n".encode("ascii"))
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(file)


def read_admin_key(folder: Path) -> str:
    file = folder / KEY_FILE
    try:
        file.chmod(0o600)  # a user may have restored it with other permissions
        return file.read_text("ascii").strip()
    except (OSError, ValueError):
        raise TickworkError(
            f"the admin key cannot be read from {file}; put it back there, or another one, made with "
            f"`tickwork key create NAME --scope admin --offline --data-dir {folder}`"
        ) from None


@contextmanager
def server_file(folder: Path, url: str) -> Iterator[None]:
    """Let clients on this machine find the server while it runs."""
    file, temporary = folder / SERVER_FILE, folder / f"{SERVER_FILE}.new"
    temporary.write_bytes(msgspec.json.encode(LocalServer(url, os.getpid())))
    temporary.replace(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
