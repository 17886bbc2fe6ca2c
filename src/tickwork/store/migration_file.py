"""The numbered SQL files of this version, and what their names say.

    0002_add_limits_to_queues.sql               programs of any age go on with the database
    0005_drop_job_color.needs_0003.sql          programs that do not know 0003 refuse to start
    0004_fill_color_of_jobs.batches.sql         one statement, repeated in short transactions until nothing is left

CONTRIBUTING.md has the rules, and docs/adr/0027 the reasons.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tickwork.model.errors import WrongSchema

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+?(?:\.needs_(\d{4}))?(\.batches)?\.sql")


class Migration(NamedTuple):
    number: int
    name: str
    needs: int  # the migration that a program must know to use the database afterwards; 0: none
    in_batches: bool
    checksum: str
    sql: str


@cache
def migrations() -> Sequence[Migration]:
    """In the order in which they are applied."""
    folder = files(__package__) / "migrations"
    return sorted(read_migration(entry.name, entry.read_bytes()) for entry in folder.iterdir())


def read_migration(name: str, content: bytes) -> Migration:
    match = _NAME.fullmatch(name)
    if not match:
        raise WrongSchema(
            f"{name} is not named like a migration", "name it like 0002_add_limits_to_queues.sql"
        )
    number, needs = int(match[1]), int(match[2] or 0)
    if needs > number:
        raise WrongSchema(f"{name} needs a later migration", f"write .needs_{number:04} or an earlier one")
    return Migration(
        number, name, needs, bool(match[3]), hashlib.sha256(content).hexdigest(), content.decode()
    )
