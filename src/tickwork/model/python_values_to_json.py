"""Python values as JSON and back, for the payloads and results of tasks.

msgspec knows dataclasses, TypedDicts, enums, datetimes and the like. Pydantic models are recognised by their methods,
so that Tickwork supports them without depending on Pydantic.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

_MOST_SHOWN = 10  # errors of one model
_NON_WORD = re.compile(r"\W")


def encode(value: object) -> bytes:
    """Raises TypeError for a type that JSON cannot carry."""
    return _encoder.encode(value)


def decoder(kind: Any) -> Callable[[bytes], Any]:
    """Raises TypeError for a type that JSON cannot carry. The decoder raises ValueError for an unsuitable value."""
    return msgspec.json.Decoder(kind, dec_hook=read_model).decode


def convert(value: object, kind: Any) -> Any:
    """Decoded JSON as a value of this type."""
    return msgspec.convert(value, kind, str_keys=True, dec_hook=read_model)


def schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type, whose parts are all under $defs at its top."""
    whole = msgspec.json.schema(kind, schema_hook=_model_schema)
    parts: dict[str, Any] = whole.setdefault("$defs", {})
    _lift_parts(whole, parts)
    return whole


def read_model(kind: type, value: object) -> Any:
    read = getattr(kind, "model_validate_json", None)
    if read is None:
        raise TypeError(f"JSON cannot carry {kind.__qualname__}")
    try:
        return read(msgspec.json.encode(value))
    except ValueError as error:
        raise ValueError(_in_short(error)) from None


def _write_model(value: Any) -> Any:
    if not hasattr(type(value), "model_validate_json"):
        raise TypeError(f"JSON cannot carry {type(value).__qualname__}")
    return value.model_dump(mode="json", by_alias=True, round_trip=True)


_encoder = msgspec.json.Encoder(enc_hook=_write_model)


def _model_schema(kind: type) -> dict[str, Any]:
    describe = getattr(kind, "model_json_schema", None)
    if describe is None:
        raise TypeError(f"JSON cannot carry {kind.__qualname__}")
    # Models of several modules may have the same name.
    prefix = _NON_WORD.sub("_", f"{kind.__module__}.{kind.__qualname__}")
    whole: dict[str, Any] = describe(ref_template=f"#/$defs/{prefix}.{{model}}")
    parts = whole.pop("$defs", {})
    return whole | {"$defs": {f"{prefix}.{name}": part for name, part in parts.items()}} if parts else whole


def _lift_parts(node: object, parts: dict[str, Any]) -> None:
    """$ref names a part from the top of the whole schema, so that is where each must be."""
    if isinstance(node, dict):
        own = node.get("$defs")
        if isinstance(own, dict) and own is not parts:
            parts |= node.pop("$defs")
        for inner in list(node.values()):
            _lift_parts(inner, parts)
    elif isinstance(node, list):
        for inner in node:
            _lift_parts(inner, parts)


def _in_short(error: Any) -> str:
    """The errors of a Pydantic model, without the links to its documentation."""
    if not callable(getattr(error, "errors", None)):
        return str(error)
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"])))
        for each in error.errors()[:_MOST_SHOWN]
    )
