"""Explains why a value does not match its type: every bad field, in words.

msgspec stops at the first bad field. This module runs only after msgspec refused a value, so it may be slow. It yields
errors one by one, so that a caller can stop when it has as many as it will show.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Any, Literal, get_args

import msgspec
from msgspec import inspect, structs

from tickwork.model.errors import FieldError, Invalid
from tickwork.model.python_values_to_json import convert
from tickwork.model.quantities import parse_duration

MOST_ERRORS = 100  # suggesting names for misspelt ones is slow, and nobody reads more
_LONGEST_SHOWN = 60
_SIMPLE: dict[type[inspect.Type], str] = {
    inspect.StrType: "text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.ListType: "a list",
    inspect.DateTimeType: "a time with its offset",
    inspect.DateType: "a date",
    inspect.TimeType: "a time of day",
    inspect.TimeDeltaType: "an ISO 8601 duration",
    inspect.UUIDType: "a UUID",
    inspect.DecimalType: "a decimal number",
    inspect.BytesType: "text in base 64",
    inspect.SetType: "a list",
    inspect.FrozenSetType: "a list",
    inspect.VarTupleType: "a list",
    inspect.TupleType: "a list",
    inspect.NoneType: "null",
}
_OBJECTS = (inspect.CustomType, inspect.DataclassType, inspect.TypedDictType, inspect.NamedTupleType)


def error_with_path(error: Exception, root: str) -> FieldError:
    """Splits msgspec's message, which ends with the path: "Expected `int`, got `str` - at `$.to`"."""
    message, _, place = str(error).partition(" - at `$")
    return FieldError(f"{root}{place.removesuffix('`')}".lstrip("."), message)


def raise_if_any(errors: Iterable[FieldError]) -> None:
    if found := list(islice(errors, MOST_ERRORS)):
        raise Invalid(found)


def type_errors(value: object, kind: Any, path: str = "") -> Iterator[FieldError]:
    """`kind`: a struct, or a union of structs that a tag tells apart."""
    if not isinstance(value, dict):
        yield FieldError(path, f"must be an object; got {_shown(value)}")
        return
    by_tag = {str(struct.__struct_config__.tag): struct for struct in get_args(kind) or (kind,)}
    tag_name = next(iter(by_tag.values())).__struct_config__.tag_field
    tag = value.get(tag_name) if tag_name else None
    if len(by_tag) > 1 and tag not in by_tag:
        yield _tag_error(tag, tuple(by_tag), _join(path, str(tag_name)))
        return
    struct = by_tag.get(str(tag)) or next(iter(by_tag.values()))
    types = {field.encode_name: field for field in structs.fields(struct)}
    for name, item in value.items():
        if name in types:
            yield from _field_errors(item, types[name].type, _join(path, name))
        elif name != tag_name:
            yield _unknown_field(name, types, path)
    for name, field in types.items():
        if field.required and name not in value:
            yield FieldError(_join(path, name), "is required")


def _tag_error(tag: object, known: tuple[str, ...], path: str) -> FieldError:
    if tag is None:
        return FieldError(path, "is required", f"one of {', '.join(known)}")
    return _type_error(tag, inspect.type_info(Literal[known]), path)


def _unknown_field(name: str, known: Iterable[str], path: str) -> FieldError:
    near = get_close_matches(name[:_LONGEST_SHOWN], known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(known)}"
    return FieldError(_join(path, name[:_LONGEST_SHOWN]), "is not known here", hint)


def _field_errors(value: object, kind: Any, path: str) -> Iterator[FieldError]:
    info = inspect.type_info(kind)
    match value, _container(value, info):
        case dict(), inspect.StructType(cls=struct):
            yield from type_errors(value, struct, path)
        case _ if _fits(value, kind):
            yield from _duration_errors(value, info, path)
        case dict(), inspect.DictType(value_type=inner):
            bad = {key: item for key, item in value.items() if not _fits({key: item}, kind)}
            yield from (_type_error(item, inner, _join(path, key)) for key, item in bad.items())
        case list(), inspect.ListType(item_type=inner) if bad_items := _bad_items(value, kind):
            for index, item in bad_items:
                yield from _item_errors(item, inner, f"{path}[{index}]")
        case _:
            yield _type_error(value, info, path)


def _item_errors(value: object, info: inspect.Type, path: str) -> Iterator[FieldError]:
    struct = _container(value, info)
    if isinstance(value, dict) and isinstance(struct, inspect.StructType):
        yield from type_errors(value, struct.cls, path)
    else:
        yield _type_error(value, info, path)


def _fits(value: object, kind: Any) -> bool:
    return _conversion_error(value, kind) is None


def _conversion_error(value: object, kind: Any) -> msgspec.ValidationError | None:
    try:
        convert(value, kind)
    except msgspec.ValidationError as error:
        return error
    return None


def _bad_items(items: list[Any], kind: Any) -> list[tuple[int, Any]]:
    return [(index, item) for index, item in enumerate(items) if not _fits([item], kind)]


def _duration_errors(value: object, info: inspect.Type, path: str) -> Iterator[FieldError]:
    for choice in _choices(info):
        if isinstance(choice, inspect.Metadata) and (choice.extra or {}).get("kind") == "duration":
            try:
                parse_duration(value)
            except ValueError as error:
                yield FieldError(path, str(error))


def _type_error(value: object, info: inspect.Type, path: str) -> FieldError:
    for choice in map(_bare, _choices(info)):
        kind = choice.cls if isinstance(choice, _OBJECTS) else None
        if kind and isinstance(value, dict | list) and (misfit := _conversion_error(value, kind)):
            return error_with_path(misfit, path)
    got = "***" if _is_secret(info) else _shown(value)
    return FieldError(path, f"must be {_expected(info)}; got {got}", _hint(value, info))


def _is_secret(info: inspect.Type) -> bool:
    extras = (choice.extra or {} for choice in _choices(info) if isinstance(choice, inspect.Metadata))
    return any(extra.get("kind") == "secret" for extra in extras)


def _choices(info: inspect.Type) -> tuple[inspect.Type, ...]:
    return info.types if isinstance(info, inspect.UnionType) else (info,)


def _bare(info: inspect.Type) -> inspect.Type:
    return info.type if isinstance(info, inspect.Metadata) else info


def _container(value: object, info: inspect.Type) -> inspect.Type | None:
    """The part of the type that describes objects or lists, if the value is one and the type allows it."""
    wanted = (inspect.StructType, inspect.DictType) if isinstance(value, dict) else inspect.ListType
    return next((choice for choice in map(_bare, _choices(info)) if isinstance(choice, wanted)), None)


def _expected(info: inspect.Type) -> str:
    match info:
        case inspect.Metadata(extra_json_schema={"description": description}):
            return str(description)
        case inspect.Metadata(type=inner):
            return _expected(inner)
        case inspect.UnionType(types=types):
            return " or ".join(
                _expected(choice) for choice in types if not isinstance(choice, inspect.NoneType)
            )
        case inspect.LiteralType() | inspect.EnumType():
            return f"one of {', '.join(_names(info))}"
        case _:
            return _SIMPLE.get(type(info), "an object") + _bounds(info)


def _bounds(info: inspect.Type) -> str:
    match info:
        case inspect.StrType(min_length=low, max_length=high):
            return _between(low, high, " of ", " characters")
        case inspect.ListType(min_length=low, max_length=high):
            return _between(low, high, " of ", " items")
        case inspect.IntType(ge=low, le=high) | inspect.FloatType(ge=low, le=high):
            return _between(low, high, " from ", "")
        case _:
            return ""


def _between(low: float | None, high: float | None, before: str, after: str) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f"{before}at least {low}{after}"
    return f"{before}{low} to {high}{after}" if low is not None else f"{before}up to {high}{after}"


def _names(info: inspect.LiteralType | inspect.EnumType) -> list[str]:
    values = info.values if isinstance(info, inspect.LiteralType) else [item.value for item in info.cls]
    return [str(value) for value in values]


def _hint(value: object, info: inspect.Type) -> str | None:
    for choice in _choices(info):
        if hint := _one_hint(value, choice):
            return hint
    return None


def _one_hint(value: object, info: inspect.Type) -> str | None:
    match _bare(info):
        case inspect.LiteralType() | inspect.EnumType() as named if isinstance(value, str):
            near = get_close_matches(value[:_LONGEST_SHOWN].lower(), _names(named), n=1)
            return f"did you mean {near[0]!r}?" if near else None
        case inspect.IntType() | inspect.FloatType() if isinstance(value, str) and value.isdecimal():
            return "write the number without quotes"
        case inspect.DateTimeType():
            return "such as 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00"
        case _:
            return "leave the field out for its default" if value is None else None


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
