"""Encodes the columns of a batch, and decodes JSON columns."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from tickwork.model.json_limits import JSON_ERRORS

Value = TypeVar("Value")
_encode = msgspec.json.Encoder().encode


def columns(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    return [shortened(column) for column in zip(*rows, strict=True)]


def literal(numbers: Sequence[int]) -> str:
    """An array as PostgreSQL writes it: text takes a third of the time of an array to encode and read. The statement
    reads it once, in `unnest($1::text::bigint[])`."""
    return "{" + _encode(numbers)[1:-1].decode() + "}"


def shortened(column: Sequence[Value]) -> Sequence[Value]:
    """A column of equal values as one value, because encoding an array costs time per element."""
    return column[:1] if column and column.count(column[0]) == len(column) else column


def stored(column: bytes | None, kind: type[Value]) -> Value | None:
    """The value of a JSON column. None also when it cannot be decoded, so that the rest of the row can be shown."""
    try:
        return None if column is None else msgspec.json.decode(column, type=kind)
    except JSON_ERRORS:
        return None
