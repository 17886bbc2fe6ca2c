"""Columns of a batch, as they are sent."""

from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")


def shortened(column: Sequence[Value]) -> Sequence[Value]:
    """One value stands for all, as it mostly does in a round: encoding an array costs by the element."""
    return column[:1] if column and column.count(column[0]) == len(column) else column
