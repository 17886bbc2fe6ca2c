"""Does a payload fit what the task's workers said its parameters are?"""

import difflib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from tickwork.model.errors import FieldError

_MOST_ERRORS = 20


def unknown_task(name: str, known: Iterable[str]) -> FieldError:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else "start a worker that offers it, then create the job"
    return FieldError("task", f"no worker has offered a task named {name!r}", hint)


def payload_errors(payload: bytes, schema: str) -> list[FieldError]:
    """Every place where the payload does not fit."""
    validator = _validator(schema)
    value = msgspec.json.decode(payload)
    if validator.is_valid(value):
        return []
    return [
        _field_error(error)
        for error, _ in zip(validator.iter_errors(value), range(_MOST_ERRORS), strict=False)
    ]


@lru_cache(maxsize=4096)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(msgspec.json.decode(schema), retriever=_nothing_from_outside)


def _nothing_from_outside(address: str) -> Any:
    raise ValueError(f"{address} is outside of this schema")


def _field_error(error: jsonschema_rs.ValidationError) -> FieldError:
    path = "payload"
    for step in error.instance_path:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return FieldError(path, error.message)
