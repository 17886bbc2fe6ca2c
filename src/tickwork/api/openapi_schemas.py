"""Schemas for the OpenAPI document: named unions, and merge patches of structs.

A field such as a duration may be given in several ways. Each such union has a name of its own in the document, so that
client generators make one type of it instead of one per field."""

from typing import Any, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType, inspect, structs

from tickwork.model.field_types import Duration
from tickwork.model.job import Dependency
from tickwork.model.requires_limits_fair_share import Size
from tickwork.model.rest_worker import LogLine, OfferedTask

Schema = dict[str, Any]

_UNIONS: dict[str, Any] = {
    "Duration": Duration,
    "Size": Size,
    "ScheduleRequest": str | dict[str, Any],
    "DependencyRequest": str | Dependency,
    "LogLine": LogLine,
    "OfferedTask": OfferedTask,
}
_NULL = {"type": "null"}


def with_named_unions(components: Schema, ref_template: str) -> Schema:
    """Adds the unions to the components, and replaces each of their uses by a reference."""
    schemas, _ = msgspec.json.schema_components(_UNIONS.values(), ref_template=ref_template)
    unions = dict(zip(_UNIONS, schemas, strict=True))
    refs = {_key(union): {"$ref": ref_template.format(name=name)} for name, union in unions.items()}
    replaced: Schema = _replaced(components, refs)
    return replaced | unions


def _replaced(value: Any, refs: dict[bytes, Schema]) -> Any:
    if isinstance(value, list):
        return [_replaced(item, refs) for item in value]
    if not isinstance(value, dict):
        return value
    ref = refs.get(_key(value)) if "anyOf" in value else None
    if ref is None:
        return {name: _replaced(item, refs) for name, item in value.items()}
    rest = {name: item for name, item in value.items() if name not in ("anyOf", "description")}
    return ({"anyOf": [ref, _NULL]} if _NULL in value["anyOf"] else ref) | rest


def _key(schema: Schema) -> bytes:
    choices = [choice for choice in schema["anyOf"] if choice != _NULL]
    return msgspec.json.encode([choices, schema.get("description")], order="deterministic")


def patch_of(struct: type[msgspec.Struct], name: str) -> type[msgspec.Struct]:
    fields = [
        (field.encode_name, _patch_type(field.type, name) | None | UnsetType, UNSET)
        for field in structs.fields(struct)
    ]
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)


def _patch_type(kind: Any, name: str) -> Any:
    """Objects inside are patched too, not replaced."""
    if get_origin(kind) is dict:
        name_type, value_type = get_args(kind)
        return dict[name_type, value_type | None]  # type: ignore[valid-type]
    info = inspect.type_info(kind)
    choices = info.types if isinstance(info, inspect.UnionType) else (info,)
    inner = next((choice.cls for choice in choices if isinstance(choice, inspect.StructType)), None)
    return patch_of(inner, f"{name}{inner.__name__}") if inner else kind
