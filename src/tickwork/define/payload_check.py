"""Checks a payload against the parameters that workers declared for the task."""

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import jsonschema_rs
import msgspec

from tickwork.model.errors import FieldError

_MAX_ERRORS = 20
_MAX_MESSAGE = 200
_SHOWN_PER_END = 90


def unknown_task(name: str, known: Iterable[str]) -> FieldError:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else "start a worker that offers it, then create the job"
    return FieldError("task", f"no worker has offered a task named {name!r}", hint)


def payload_errors(payload: object, schema: str) -> list[FieldError]:
    """The parts of the payload that do not fit the schema."""
    try:
        validator = _validator(schema)
    except ValueError as error:
        hint = "change the task's parameters and restart its worker"
        message = f"its worker declared its parameters with an invalid schema: {_short(str(error))}"
        return [FieldError("task", message, hint)]
    if validator.is_valid(payload):
        return []
    errors = chain.from_iterable(map(_field_errors, validator.iter_errors(payload)))
    return list(islice(errors, _MAX_ERRORS))


@lru_cache(maxsize=4096)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(msgspec.json.decode(schema), retriever=_refuse_remote)


def _refuse_remote(address: str) -> Any:
    raise ValueError(f"{address} is outside of this schema")


def _field_errors(error: jsonschema_rs.ValidationError) -> Iterator[FieldError]:
    path = "payload"
    for step in error.instance_path:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    match error.kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=name):
            yield FieldError(f"{path}.{name}", "is required")
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected=names):
            yield from (
                FieldError(f"{path}.{_short(name)}", "is not a parameter of this task") for name in names
            )
        case _:
            yield FieldError(path, _short(error.message))


def _short(text: str) -> str:
    """Messages quote the value, which may be as long as the payload. The start and the end are enough."""
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_SHOWN_PER_END]} … {text[-_SHOWN_PER_END:]}"
