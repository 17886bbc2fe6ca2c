"""Who may enter the embedded PostgreSQL: whoever runs it, as the operating system knows him. Nobody is trusted."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

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
