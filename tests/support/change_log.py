"""Watches the tables from inside the database: every change of a row, in order, with the database's time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import msgspec

_INSTALL = Path(__file__).with_suffix(".sql").read_text("utf-8")
_READ = """
    SELECT number, at, transaction::text::bigint AS transaction, relation, before::text, after::text
    FROM tickwork.observed ORDER BY number"""

Row = dict[str, Any]
FOREVER = datetime.max.replace(tzinfo=UTC)


class Change(NamedTuple):
    number: int
    at: datetime
    transaction: int
    relation: str
    before: Row | None
    after: Row | None


async def install_change_log(connection: asyncpg.Connection) -> None:
    await connection.execute(_INSTALL)


async def read_changes(connection: asyncpg.Connection) -> list[Change]:
    """Everything so far. Transactions are numbered in the order in which they first wrote or locked anything, so that
    two runs can be compared."""
    rows = await connection.fetch(_READ)
    order = {each: number for number, each in enumerate(sorted({row["transaction"] for row in rows}))}
    return [
        Change(
            row["number"],
            row["at"],
            order[row["transaction"]],
            row["relation"],
            _row(row["before"]),
            _row(row["after"]),
        )
        for row in rows
    ]


def instant(text: str | None) -> datetime | None:
    """A time as the database writes it in JSON."""
    if text is None:
        return None
    return FOREVER if text == "infinity" else datetime.fromisoformat(text).astimezone(UTC)


def document(text: str) -> Any:
    """JSON that is stored as bytes."""
    return msgspec.json.decode(bytes.fromhex(text.removeprefix("\\x")))


def _row(text: str | None) -> Row | None:
    return msgspec.json.decode(text) if text else None
