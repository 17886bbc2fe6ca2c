"""A function's parameters as the payload of its jobs: how to read it, and its JSON Schema."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from tickwork.model.context import Context
from tickwork.model.errors import Invalid

_CONTEXT_NAME = "ctx"
_UNCHANGING = (type(None), bool, int, float, str, Enum)
_NO_PAYLOAD = (b"", b"null")

Decode = Callable[[bytes], dict[str, Any]]


class TaskSignature(NamedTuple):
    arguments: Signature  # without the context
    decode: Decode
    schema: dict[str, Any]
    context_parameter: str | None
    result: Any  # the type that the function says it returns


@cache
def read_signature(function: Callable[..., Any]) -> TaskSignature:
    """Invalid says which parameter cannot be part of a payload."""
    written = signature(function)
    hints = _type_hints(function)
    context = _context_parameter(written, hints)
    parameters = [parameter for parameter in written.parameters.values() if parameter.name != context]
    _check_kinds(parameters)
    any_others = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    payload = _payload_type(function.__name__, parameters, hints, forbid_others=not any_others)
    try:
        return TaskSignature(
            arguments=written.replace(parameters=parameters),
            decode=_lenient_decode(payload) if any_others else _strict_decode(payload),
            schema=_schema(payload),
            context_parameter=context,
            result=hints.get("return", Any),
        )
    except TypeError as error:
        raise Invalid.field(function.__name__, f"has a parameter that JSON cannot carry: {error}") from None


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        hint = "import it at the top of the module, outside of TYPE_CHECKING"
        raise Invalid.field(
            function.__name__, f"is annotated with a name that is not there: {error}", hint
        ) from None


def _context_parameter(written: Signature, hints: Mapping[str, Any]) -> str | None:
    for name in written.parameters:
        hint = hints.get(name)
        if hint is Context or Context in get_args(hint) or (hint is None and name == _CONTEXT_NAME):
            return name
    return None


def _check_kinds(parameters: Iterable[Parameter]) -> None:
    for parameter in parameters:
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            hint = "make it a parameter that can be given by name"
            raise Invalid.field(parameter.name, "has no name in a payload, which is a JSON object", hint)


def _payload_type(
    name: str, parameters: Iterable[Parameter], hints: Mapping[str, Any], *, forbid_others: bool
) -> type[msgspec.Struct]:
    fields = [
        (parameter.name, hints.get(parameter.name, Any), _default(parameter))
        for parameter in parameters
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]
    return msgspec.defstruct(f"{name}_payload", fields, kw_only=True, forbid_unknown_fields=forbid_others)


def _default(parameter: Parameter) -> Any:
    default = parameter.default
    if default is Parameter.empty:
        return msgspec.field()
    if isinstance(default, _UNCHANGING):
        return msgspec.field(default=default)
    return msgspec.field(default_factory=lambda: default)


def _strict_decode(payload: type[msgspec.Struct]) -> Decode:
    read, empty = msgspec.json.Decoder(payload).decode, b"{}"

    def decode(text: bytes) -> dict[str, Any]:
        return msgspec.structs.asdict(read(empty if text in _NO_PAYLOAD else text))

    return decode


def _lenient_decode(payload: type[msgspec.Struct]) -> Decode:
    """For **kwargs: everything that is no parameter of its own is passed on as it is."""
    own = _strict_decode(payload)
    read = msgspec.json.Decoder(dict[str, Any]).decode

    def decode(text: bytes) -> dict[str, Any]:
        return own(text) if text in _NO_PAYLOAD else read(text) | own(text)

    return decode


def _schema(payload: type[msgspec.Struct]) -> dict[str, Any]:
    """With the object itself at the top, and nothing but the types it is made of under $defs."""
    schema = msgspec.json.schema(payload)
    parts = schema["$defs"]
    top: dict[str, Any] = parts.pop(schema["$ref"].removeprefix("#/$defs/"))
    del top["title"]
    return top | {"$defs": parts} if parts else top
