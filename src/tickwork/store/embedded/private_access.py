"""Lets only the operating system user that runs the embedded PostgreSQL connect to it, through private folders."""

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tickwork.model.errors import TickworkError

_MAP = "tickwork"
_RULES = f"""# Written by Tickwork at every start.
local all all peer map={_MAP}
local replication all peer map={_MAP}
"""


def admit(cluster: Path, users: Sequence[str], role: str, owner: int) -> bool:
    """Let only these operating system users connect, as this role. Returns whether that is a change."""
    names = "".join(f"{_MAP} {_quoted(user)} {_quoted(role)}\n" for user in users)
    rules = _write(cluster / "pg_hba.conf", _RULES, owner)
    return (
        _write(cluster / "pg_ident.conf", "# Written by Tickwork at every start.\n" + names, owner) or rules
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _write(file: Path, text: str, owner: int) -> bool:
    """Write a new file and rename it: root works in a folder of another user here, and must not follow a link."""
    if not file.is_symlink() and file.exists() and file.read_text(errors="replace") == text:
        return False
    descriptor, draft = tempfile.mkstemp(prefix=file.name, dir=file.parent)
    with os.fdopen(descriptor, "w") as out:
        out.write(text)
        os.fchown(descriptor, owner, -1)
    Path(draft).replace(file)
    return True


_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_MAY_ANYTHING = stat.S_IRWXG | stat.S_IRWXO


def own_folder(folder: Path) -> None:
    """Create the folder if needed. Refuse one that belongs to another user, who could replace everything in it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        return
    found = folder.stat()
    if found.st_uid != os.geteuid() or folder.lstat().st_uid not in (os.geteuid(), 0):  # the link, too
        raise TickworkError(
            f"the folder {folder} belongs to user {found.st_uid}, but this runs as user {os.geteuid()}: "
            f"give it away with `chown -R {os.geteuid()}`, run as its owner, or choose another --data-dir"
        )
    if found.st_mode & _OTHERS_MAY_WRITE:
        folder.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_MAY_WRITE)


def make_private_folder(prefix: str, owner: int) -> Path:
    """In the folder for temporary files, with a name that nobody can predict."""
    shared = Path(tempfile.gettempdir())
    mode = shared.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise TickworkError(
            f"in {shared} every user can replace the folders of others: set its sticky bit (chmod +t), "
            "name another folder in TMPDIR, or choose a shorter --data-dir"
        )
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=shared))  # with mode 0700
    os.chown(folder, owner, -1)
    return folder


def is_private(folder: Path, owner: int) -> bool:
    """Whether it is a folder, not a link to one, that only this owner may enter."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == owner and not found.st_mode & _OTHERS_MAY_ANYTHING


def create_private(file: Path) -> IO[bytes]:
    """A new file that only its owner may read, from the first byte on."""
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
