"""The documentation says of every table what bounds it."""

import re
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_TABLE = re.compile(r"^CREATE (?:UNLOGGED )?TABLE tickwork\.(\w+)", re.MULTILINE)


def test_every_table_is_listed_once_with_what_bounds_it() -> None:
    schema = (_ROOT / "src/tickwork/store/schema.sql").read_text("utf-8")
    page = (_ROOT / "docs/operate/database.md").read_text("utf-8")
    section = page.split("## What bounds each table")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(_TABLE.findall(schema))
