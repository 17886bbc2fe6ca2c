"""The options of a task: how its jobs are to be run."""

from typing import Any

import msgspec

from tickwork.model.duration import parse_duration
from tickwork.model.errors import Invalid
from tickwork.model.job import JobRequest


def with_options(request: JobRequest, *, retries: int | None = None, **given: Any) -> JobRequest:
    """The request with what was given, which is anything but None. Invalid says what is wrong with it."""
    changes = {name: value for name, value in given.items() if value is not None}
    if retries is not None:
        changes["retry"] = msgspec.structs.replace(request.retry, max_attempts=retries + 1)
    changed = msgspec.structs.replace(request, **changes)
    _check(changed)
    return changed


def _check(request: JobRequest) -> None:
    try:
        msgspec.convert(msgspec.to_builtins(request), JobRequest)
    except ValueError as error:
        raise as_invalid(error, "") from None
    try:
        parse_duration(request.timeout)
    except ValueError as error:
        raise Invalid.field("timeout", str(error)) from None


def as_invalid(error: ValueError, root: str) -> Invalid:
    """msgspec ends its message with the place: "Expected `int`, got `str` - at `$.to`"."""
    message, _, place = str(error).partition(" - at `$")
    path = f"{root}{place.removesuffix('`')}".lstrip(".")
    return Invalid.field(path or "task", message)
