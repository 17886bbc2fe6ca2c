"""One page of a list, and where the next one begins."""

from typing import Generic, TypeVar

import msgspec

Item = TypeVar("Item")


class Page(msgspec.Struct, Generic[Item], frozen=True):
    items: list[Item]
    next_cursor: str | None = None
