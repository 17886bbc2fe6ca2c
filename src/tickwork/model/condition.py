"""A condition on the result of a job: JSON that says what must be true of it, such as

{"all": [{"path": "status", "equals": "ok"}, {"path": "rows", "greater": 0}]}

It is checked when it is given, and stored as a JSON path (SQL/JSON) that PostgreSQL evaluates when the job has
completed. A comparison with something that is missing or of another type is false, so every condition is true or false.
"""

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tickwork.model.errors import FieldError, Invalid

MOST_CONDITIONS = 100
DEEPEST = 8
_LONGEST_TEXT = 1000

Text = Annotated[str, Meta(max_length=_LONGEST_TEXT)]
Scalar = Text | int | float | bool | None
Ordered = Text | int | float
Path = (
    Annotated[str, Meta(max_length=_LONGEST_TEXT, description="keys and positions, such as items.0.price")]
    | Annotated[list[Text | Annotated[int, Meta(ge=0, lt=10**9)]], Meta(max_length=50)]
)
_RENAMED = {"is_in": "in", "negated": "not"}


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename=_RENAMED):
    """What must be true of a result: one comparison of what is at `path`, or other conditions with `all`, `any` or
    `not`."""

    path: Annotated[Path, Meta(description="where to look; left out: at the result itself")] | UnsetType = (
        UNSET
    )
    equals: Scalar | UnsetType = UNSET
    is_in: Annotated[list[Scalar], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    less: Ordered | UnsetType = UNSET
    greater: Ordered | UnsetType = UNSET
    exists: bool | UnsetType = UNSET
    all: Annotated[list["Condition"], Meta(min_length=1, max_length=MOST_CONDITIONS)] | UnsetType = UNSET
    any: Annotated[list["Condition"], Meta(min_length=1, max_length=MOST_CONDITIONS)] | UnsetType = UNSET
    negated: "Condition | UnsetType" = UNSET


_COMPARISONS = ("equals", "in", "less", "greater", "exists")
_COMBINATIONS = ("all", "any", "not")
_ONE_OF = f"give exactly one of {', '.join((*_COMPARISONS, *_COMBINATIONS))}"


def condition_as_json_path(condition: Condition, field: str) -> str:
    """The same as a JSON path. Invalid names every mistake, in fields below `field`."""
    parts = list(_parts(condition, field, 1))
    errors = [error for part, path, depth in parts for error in _errors(part, path, depth)]
    if len(parts) > MOST_CONDITIONS:
        errors.append(
            FieldError(field, f"has {len(parts):,} conditions; at most {MOST_CONDITIONS} are allowed")
        )
    if errors:
        raise Invalid(errors)
    return f"strict {_predicate(condition)}"


def _parts(condition: Condition, field: str, depth: int) -> Iterator[tuple[Condition, str, int]]:
    """The condition and all that it is made of."""
    yield condition, field, depth
    if depth > DEEPEST:
        return
    for name in ("all", "any"):
        for place, part in enumerate(getattr(condition, name) or ()):
            yield from _parts(part, f"{field}.{name}[{place}]", depth + 1)
    if condition.negated is not UNSET:
        yield from _parts(condition.negated, f"{field}.not", depth + 1)


def _errors(condition: Condition, field: str, depth: int) -> Iterator[FieldError]:
    given = _given(condition)
    if len(given) != 1:
        yield FieldError(field, f"has {' and '.join(given) or 'nothing to compare with'}", _ONE_OF)
    elif given[0] in _COMBINATIONS and condition.path is not UNSET:
        yield FieldError(
            f"{field}.path", f"has no meaning beside {given[0]}", "put it into each condition there"
        )
    if depth > DEEPEST:
        yield FieldError(field, f"is nested more than {DEEPEST} deep")
    if any("\0" in text for text in _texts(condition)):
        yield FieldError(field, "contains the character U+0000, which no result can contain")


def _given(condition: Condition) -> list[str]:
    fields = zip(condition.__struct_fields__, condition.__struct_encode_fields__, strict=True)
    return [word for name, word in fields if word != "path" and getattr(condition, name) is not UNSET]


def _texts(condition: Condition) -> Iterator[str]:
    values: list[Any] = [condition.equals, condition.less, condition.greater]
    for several in (condition.is_in, condition.path):
        values += several if isinstance(several, list) else [several]
    return (value for value in values if isinstance(value, str))


def _predicate(condition: Condition) -> str:
    if condition.all is not UNSET:
        return "(" + " && ".join(map(_predicate, condition.all)) + ")"
    if condition.any is not UNSET:
        return "(" + " || ".join(map(_predicate, condition.any)) + ")"
    if condition.negated is not UNSET:
        return f"(!{_predicate(condition.negated)})"
    comparison = _comparison(condition)
    known = f"(!(({comparison}) is unknown) && ({comparison}))"
    return f"(!{known})" if condition.exists is False else known


def _comparison(condition: Condition) -> str:
    place = "$" + "".join(map(_accessor, path_steps(condition.path)))
    if condition.is_in is not UNSET:
        return " || ".join(f"{place} == {json.dumps(value)}" for value in condition.is_in)
    if condition.less is not UNSET:
        return f"{place} < {json.dumps(condition.less)}"
    if condition.greater is not UNSET:
        return f"{place} > {json.dumps(condition.greater)}"
    if condition.exists is not UNSET:
        return f"exists({place})"
    return f"{place} == {json.dumps(condition.equals)}"


def path_steps(path: str | list[str | int] | UnsetType) -> list[str | int]:
    """The keys and positions that a path leads by."""
    if isinstance(path, list):
        return path
    if path is UNSET or not path:
        return []
    return [int(step) if re.fullmatch("[0-9]{1,9}", step) else step for step in path.split(".")]


def _accessor(step: str | int) -> str:
    return f"[{step}]" if isinstance(step, int) else f".{json.dumps(step)}"
