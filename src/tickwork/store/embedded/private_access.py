"""Who may enter the embedded PostgreSQL: only the operating system user that runs it, through private folders."""

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
    """Let these users of the machine in as that role and nobody else; whether that is new."""
    names = "".join(f"{_MAP} {_quoted(user)} {_quoted(role)}\n" for user in users)
    rules = _write(cluster / "pg_hba.conf", _RULES, owner)
    return (
        _write(cluster / "pg_ident.conf", "# Written by Tickwork at every start.\n" + names, owner) or rules
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _write(file: Path, text: str, owner: int) -> bool:
    """Beside it and renamed: as root this works in a folder of another user, and must follow no link of his."""
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
    """Make it if it is not there. What belongs to somebody else is refused: its owner could exchange all that is in
    it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        return
    found = folder.stat()
    if found.st_uid != os.geteuid() or folder.lstat().st_uid not in (os.geteuid(), 0):  # as a link, too
        raise TickworkError(
            f"the folder {folder} belongs to user {found.st_uid}, but this runs as user {os.geteuid()}: "
            f"give it away with `chown -R {os.geteuid()}`, run as its owner, or choose another --data-dir"
        )
    if found.st_mode & _OTHERS_MAY_WRITE:
        folder.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_MAY_WRITE)


def make_private_folder(prefix: str, owner: int) -> Path:
    """In the folder for temporary files, under a name that nobody can take beforehand."""
    shared = Path(tempfile.gettempdir())
    mode = shared.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise TickworkError(
            f"in {shared} everybody may exchange the folders of others: set its sticky bit (chmod +t), "
            "name another folder in TMPDIR, or choose a shorter --data-dir"
        )
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=shared))  # with mode 0700
    os.chown(folder, owner, -1)
    return folder


def is_private(folder: Path, owner: int) -> bool:
    """Whether it is a folder, no link to one, that its owner alone may enter."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == owner and not found.st_mode & _OTHERS_MAY_ANYTHING


def create_private(file: Path) -> IO[bytes]:
    """A new file, for its owner's eyes from the first byte on."""
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
