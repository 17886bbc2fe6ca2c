"""Named queries from the .sql files beside this one.

-- name: take_due_rules
-- Locks the rules whose time has come, earliest first.
SELECT …
"""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def queries(file: str) -> dict[str, str]:
    """The queries of one file by name, each starting with its name so that it can be told apart in the
    database's statistics."""
    text = (files(__package__) / "queries" / f"{file}.sql").read_text("utf-8")
    names = _NAME.split(text)[1:]
    return {
        name: f"/* {name} */ {_without_comments(body)}"
        for name, body in zip(names[::2], names[1::2], strict=True)
    }


def _without_comments(body: str) -> str:
    lines = (line for line in body.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")


def rows_written(answer: str) -> int:
    """By a statement that was answered so: `UPDATE 3`, `INSERT 0 3`."""
    return int(answer.rsplit(" ", 1)[1])
