"""Parses the query of a request into a struct. Unknown and repeated names are errors."""

import re
from collections.abc import Collection
from datetime import UTC, timedelta, tzinfo
from functools import cache
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, inspect, structs

from tickwork.model.errors import FieldError, Invalid
from tickwork.model.explain_type_errors import raise_if_any, type_errors
from tickwork.model.public_ids import KEY_PREFIX, LONGEST_KEY
from tickwork.model.quantities import parse_duration
from tickwork.schedule.errors import ScheduleError
from tickwork.schedule.zone_name import read_zone_name

Query = TypeVar("Query", bound=msgspec.Struct)

_MAX_PARAMETERS = 50
_INTEGER = re.compile(r"[0-9]{1,18}")
_ID_DIGITS = "[0-7]?[0-9a-hjkmnp-tv-z]{1,12}"
JobId = Annotated[
    str,
    Meta(
        pattern=f"^(j{_ID_DIGITS}|{KEY_PREFIX}.{{1,{LONGEST_KEY}}})$",
        description="the id of a job, or key:NAME",
    ),
]
WorkerId = Annotated[str, Meta(pattern=f"^w{_ID_DIGITS}$", description="the id of a worker")]
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Limit = Annotated[int, Meta(ge=1, le=500)]
DurationText = Annotated[
    str, Meta(min_length=1, max_length=64, description='"90s", "5m", "1h30m", "PT5M" or seconds')
]
Cursor = Annotated[str, Meta(min_length=1, max_length=1000, description="the next_cursor of the page before")]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Limit = 50
    cursor: Cursor | None = None


def parse_query(raw: bytes, struct: type[Query]) -> Query:
    values = _values(raw, _lists(struct)) if raw else {}
    for name in _integers(struct) & values.keys():
        if _INTEGER.fullmatch(values[name]):
            values[name] = int(values[name])
    try:
        return msgspec.convert(values, struct)
    except msgspec.ValidationError as error:
        raise_if_any(type_errors(values, struct))
        raise Invalid.field("", str(error)) from None


def parsed_duration(name: str, text: str | None) -> timedelta | None:
    """The value of a parameter that is a duration."""
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise Invalid.field(name, str(error)) from None


def zone_of(name: str | None) -> tzinfo:
    """The zone that the parameter `timezone` names; UTC if it is not given."""
    if name is None or name == "UTC":
        return UTC
    try:
        return read_zone_name(name).info
    except ScheduleError as error:
        raise Invalid.field("timezone", str(error), error.hint) from None


def _values(raw: bytes, lists: Collection[str]) -> dict[str, Any]:
    """The parameters by name; those of `lists` may be repeated."""
    try:
        pairs = parse_qsl(
            raw.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except ValueError:
        raise Invalid.field(
            "query", "cannot be read", f"at most {_MAX_PARAMETERS} parameters in UTF-8"
        ) from None
    values: dict[str, Any] = dict(pairs)
    raise_if_any(_doubled([pair for pair in pairs if pair[0] not in lists], values))
    values |= {name: [value for each, value in pairs if each == name] for name in lists if name in values}
    raise_if_any(
        FieldError(name, "holds the character NUL") for name, value in pairs if "\x00" in name + value
    )
    return values


def _doubled(pairs: list[tuple[str, str]], values: dict[str, Any]) -> list[FieldError]:
    names = [name for name, _ in pairs]
    return [FieldError(name, "is given more than once") for name in values if names.count(name) > 1]


@cache
def _integers(struct: type[msgspec.Struct]) -> frozenset[str]:
    """The fields to convert from text to a number."""
    fields = structs.fields(struct)
    return frozenset(field.encode_name for field in fields if _is_integer(inspect.type_info(field.type)))


@cache
def _lists(struct: type[msgspec.Struct]) -> frozenset[str]:
    """The fields that are given as several parameters."""
    fields = structs.fields(struct)
    return frozenset(field.encode_name for field in fields if _is_list(inspect.type_info(field.type)))


def _is_list(info: inspect.Type) -> bool:
    if isinstance(info, inspect.UnionType):
        return any(map(_is_list, info.types))
    return isinstance(info.type if isinstance(info, inspect.Metadata) else info, inspect.VarTupleType)


def _is_integer(info: inspect.Type) -> bool:
    if isinstance(info, inspect.UnionType):
        return any(map(_is_integer, info.types))
    return isinstance(info.type if isinstance(info, inspect.Metadata) else info, inspect.IntType)
