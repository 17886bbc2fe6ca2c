"""The type of a JSON Merge Patch (RFC 7396) for a struct: any of its fields, where null takes one away."""

from typing import Any, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType, inspect, structs


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
