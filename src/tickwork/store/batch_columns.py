"""Columns of a batch, as they are sent, and JSON in columns, as it is read."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from tickwork.model.json_limits import JSON_ERRORS

Value = TypeVar("Value")
_encode = msgspec.json.Encoder().encode


def columns(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    return [shortened(column) for column in zip(*rows, strict=True)]


def literal(numbers: Sequence[int]) -> str:
    """As PostgreSQL writes a list: that is encoded and read in a third of the time that an array takes. To be read
    once, in `unnest($1::text::bigint[])`."""
    return "{" + _encode(numbers)[1:-1].decode() + "}"


def shortened(column: Sequence[Value]) -> Sequence[Value]:
    """One value stands for all, as it mostly does in a round: encoding an array costs by the element."""
    return column[:1] if column and column.count(column[0]) == len(column) else column


def stored(column: bytes | None, kind: type[Value]) -> Value | None:
    """What a column holds as JSON; None also when that cannot be read, so that what stands beside it is shown."""
    try:
        return None if column is None else msgspec.json.decode(column, type=kind)
    except JSON_ERRORS:
        return None
