"""Reads a function's signature: the decoder and the JSON Schema of the payload that its jobs have."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from inspect import Parameter, Signature, isasyncgenfunction, isgeneratorfunction, signature
from types import SimpleNamespace
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from tickwork.model import python_values_to_json as codec
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.explain_type_errors import type_errors
from tickwork.model.task_context import Context

_CONTEXT_NAME = "ctx"
_UNCHANGING = (type(None), bool, int, float, str, Enum)
_NO_PAYLOAD = (b"", b"null")
_WITHOUT_NAME = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)

Decode = Callable[[bytes], dict[str, Any]]


class TaskSignature(NamedTuple):
    arguments: Signature  # without the context
    decode: Decode
    payload: type[msgspec.Struct]
    schema: dict[str, Any]
    context_parameter: str | None
    needs_context: bool  # the context parameter has no default
    result: Any  # the annotated return type

    def errors_of(self, payload: dict[str, Any]) -> list[FieldError]:
        """An error for each argument that does not fit its parameter."""
        known = {name: value for name, value in payload.items() if name in self.payload.__struct_fields__}
        return list(type_errors(known, self.payload, "payload"))


def full_name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def definition_error(function: Callable[..., Any], errors: Iterable[FieldError]) -> Invalid:
    """Everything that is wrong with a task, each error with the name of the function."""
    name = full_name(function)
    return Invalid([each._replace(path=f"{name}({each.path})" if each.path else name) for each in errors])


def errors_of_shape(function: Callable[..., Any]) -> Iterator[FieldError]:
    """Errors that can be found without resolving the annotations."""
    if isgeneratorfunction(function) or isasyncgenfunction(function):
        yield FieldError("", "yields, but a task returns once", "return a list instead")
    for parameter in signature(function).parameters.values():
        if parameter.kind in _WITHOUT_NAME:
            hint = "make it a parameter that can be given by name"
            yield FieldError(parameter.name, "has no name in a payload, which is a JSON object", hint)


@cache
def read_signature(function: Callable[..., Any]) -> TaskSignature:
    """Raises Invalid with every parameter that cannot be part of a payload."""
    if errors := list(errors_of_shape(function)):
        raise definition_error(function, errors)
    written = signature(function)
    hints = _type_hints(function)
    context = _context_parameter(written, hints)
    parameters = [parameter for parameter in written.parameters.values() if parameter.name != context]
    any_others = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    payload = _payload_type(function.__name__, parameters, hints, forbid_others=not any_others)
    try:
        return TaskSignature(
            arguments=written.replace(parameters=parameters),
            decode=_lenient_decode(payload) if any_others else _strict_decode(payload),
            payload=payload,
            schema=_schema(payload),
            context_parameter=context,
            needs_context=context is not None and written.parameters[context].default is Parameter.empty,
            result=hints.get("return", Any),
        )
    except TypeError as error:
        errors = list(_errors_of_types(payload)) or [FieldError("", str(error))]
        raise definition_error(function, errors) from None


def _type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError:
        raise definition_error(function, _missing_names(function)) from None


def _missing_names(function: Callable[..., Any]) -> Iterator[FieldError]:
    for name, annotation in function.__annotations__.items():
        try:
            get_type_hints(SimpleNamespace(__annotations__={name: annotation}), function.__globals__)
        except NameError as error:
            hint = "import it at the top of the module, outside of TYPE_CHECKING"
            yield FieldError(name, f"is annotated with an undefined name: {error}", hint)


def _errors_of_types(payload: type[msgspec.Struct]) -> Iterator[FieldError]:
    for field in msgspec.structs.fields(payload):
        try:
            codec.decoder(field.type)
            codec.schema(field.type)
        except TypeError as error:
            hint = "use text, numbers, lists, dicts, enums, times, dataclasses or models"
            yield FieldError(field.name, str(error), hint)


def _context_parameter(written: Signature, hints: Mapping[str, Any]) -> str | None:
    for name in written.parameters:
        hint = hints.get(name)
        if hint is Context or Context in get_args(hint) or (hint is None and name == _CONTEXT_NAME):
            return name
    return None


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
    read, empty = codec.decoder(payload), b"{}"

    def decode(text: bytes) -> dict[str, Any]:
        return msgspec.structs.asdict(read(empty if text in _NO_PAYLOAD else text))

    return decode


def _lenient_decode(payload: type[msgspec.Struct]) -> Decode:
    """For **kwargs: values without a parameter are passed on unchanged."""
    own = _strict_decode(payload)
    read = msgspec.json.Decoder(dict[str, Any]).decode

    def decode(text: bytes) -> dict[str, Any]:
        return own(text) if text in _NO_PAYLOAD else read(text) | own(text)

    return decode


def _schema(payload: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema with the payload object at the top level and only the types that it uses under $defs."""
    schema = codec.schema(payload)
    parts = schema["$defs"]
    top: dict[str, Any] = parts.pop(schema["$ref"].removeprefix("#/$defs/"))
    del top["title"]
    return top | {"$defs": parts} if parts else top
