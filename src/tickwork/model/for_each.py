"""A job that runs once for each element of a list that its parent returned."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tickwork.model.condition import Path, path_steps

MOST_ELEMENTS = 10_000
MOST_BYTES = 64 << 20  # of the payloads of all elements together


class ForEach(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"into": "as"}):
    """Where the list is in the result of the parent, and the field of the payload that holds an element of it."""

    path: Annotated[Path, Meta(description="where the list is; left out: the result itself")] | UnsetType = (
        UNSET
    )
    into: Annotated[str, Meta(min_length=1, max_length=200)] = "item"


class NoElements(Exception):
    """The parent returned nothing that a job could run for each element of. The text says why."""


def elements(result: Any, for_each: ForEach) -> list[Any]:
    """The elements of the list at the path."""
    value = result
    for step in path_steps(for_each.path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            raise NoElements(f"the result has no {_text(for_each)}") from None
    if not isinstance(value, list):
        raise NoElements(f"{_text(for_each)} is not a list")
    if len(value) > MOST_ELEMENTS:
        raise NoElements(
            f"{_text(for_each)} has {len(value):,} elements; at most {MOST_ELEMENTS:,} are allowed"
        )
    return value


def payload_with(payload: Any, for_each: ForEach, element: Any) -> dict[str, Any]:
    return {**(payload or {}), for_each.into: element}


def _text(for_each: ForEach) -> str:
    path = path_steps(for_each.path)
    return ".".join(map(str, path)) if path else "result"
