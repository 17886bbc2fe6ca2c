"""Columns of a batch, as they are sent."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

Value = TypeVar("Value")


def columns(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    return [shortened(column) for column in zip(*rows, strict=True)]


def shortened(column: Sequence[Value]) -> Sequence[Value]:
    """One value stands for all, as it mostly does in a round: encoding an array costs by the element."""
    return column[:1] if column and column.count(column[0]) == len(column) else column
