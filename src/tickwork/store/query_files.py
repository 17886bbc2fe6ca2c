"""Named queries from the .sql files in `queries`, and the text that several of them share.

-- name: take_due_rules
-- Locks the rules whose time has come, earliest first.
SELECT …

-- snippet: waiting_executions
-- Text that replaces each line `-- include: waiting_executions` in the queries and snippets of the same file.
FROM …
"""

import re
from functools import cache
from importlib.resources import files

_ENTRY = re.compile(r"^-- (name|snippet): (\w+)\n", re.MULTILINE)
_INCLUDE = re.compile(r"^ *-- include: (\w+)$", re.MULTILINE)


@cache
def queries(file: str) -> dict[str, str]:
    """The queries of one file by name. Each starts with its name, which identifies it in the database's statistics."""
    text = (files(__package__) / "queries" / f"{file}.sql").read_text("utf-8")
    entries = _ENTRY.split(text)[1:]
    found: dict[str, dict[str, str]] = {"name": {}, "snippet": {}}
    for kind, name, body in zip(entries[::3], entries[1::3], entries[2::3], strict=True):
        found[kind][name] = body

    def with_snippets(body: str) -> str:
        return _INCLUDE.sub(lambda match: with_snippets(found["snippet"][match[1]]), body)

    return {name: f"/* {name} */ {_sql(with_snippets(body))}" for name, body in found["name"].items()}


def _sql(body: str) -> str:
    """Without comments and the final semicolon."""
    lines = (line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")


def rows_written(answer: str) -> int:
    """How many rows a statement wrote, from PostgreSQL's answer: `UPDATE 3`, `INSERT 0 3`."""
    return int(answer.rsplit(" ", 1)[1])
