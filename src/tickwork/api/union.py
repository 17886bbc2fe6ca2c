"""What may be given in several ways, under a name of its own in the OpenAPI document: generators of clients make one
type of each, and need not invent names that differ from field to field."""

from typing import Any

import msgspec

from tickwork.model.job import Dependency, Duration
from tickwork.model.rest import LogLine, OfferedTask
from tickwork.model.terms import Size

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
    """The components, and in them a reference wherever one of the unions stands."""
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
