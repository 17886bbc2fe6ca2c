"""Does a payload fit what the task's workers said its parameters are?"""

import difflib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import jsonschema_rs
import msgspec

from tickwork.model.errors import FieldError

_MOST_ERRORS = 20
_LONGEST_MESSAGE = 200
_HALF = 90


def unknown_task(name: str, known: Iterable[str]) -> FieldError:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else "start a worker that offers it, then create the job"
    return FieldError("task", f"no worker has offered a task named {name!r}", hint)


def payload_errors(payload: object, schema: str) -> list[FieldError]:
    """Every place where the payload does not fit."""
    try:
        validator = _validator(schema)
    except ValueError as error:
        hint = "change the task's parameters and start its worker again"
        return [
            FieldError(
                "task", f"its worker gave a broken schema of its parameters: {_short(str(error))}", hint
            )
        ]
    if validator.is_valid(payload):
        return []
    errors = chain.from_iterable(map(_field_errors, validator.iter_errors(payload)))
    return list(islice(errors, _MOST_ERRORS))


@lru_cache(maxsize=4096)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(msgspec.json.decode(schema), retriever=_nothing_from_outside)


def _nothing_from_outside(address: str) -> Any:
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
    """Messages quote the value, which may be as long as the payload: its beginning and what is said of it do."""
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_HALF]} … {text[-_HALF:]}"
