"""The options of a task: how its jobs are to be run."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tickwork.model.duration import parse_duration
from tickwork.model.errors import Invalid
from tickwork.model.job import JobRequest
from tickwork.model.retry import error_name
from tickwork.model.terms import errors_of_terms

Errors = type[BaseException] | str | Sequence[type[BaseException] | str]  # as after `except`, or by name


def with_options(
    request: JobRequest,
    *,
    retries: int | None = None,
    retry_on: Errors | None = None,
    never_retry_on: Errors | None = None,
    **given: Any,
) -> JobRequest:
    """The request with what was given, which is anything but None. Invalid says what is wrong with it."""
    retry = {
        "max_attempts": None if retries is None else retries + 1,
        "only_on": _names("retry_on", retry_on),
        "never_on": _names("never_retry_on", never_retry_on),
    }
    changed = msgspec.structs.replace(
        request, retry=msgspec.structs.replace(request.retry, **_given(retry)), **_given(given)
    )
    _check(changed)
    return changed


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _names(option: str, errors: Errors | None) -> list[str] | None:
    if errors is None:
        return None
    if isinstance(errors, str) or not isinstance(errors, Sequence):
        errors = [errors]
    return [_name(option, error) for error in errors]


def _name(option: str, error: object) -> str:
    if isinstance(error, str):
        return error
    if not (isinstance(error, type) and issubclass(error, BaseException)):
        raise Invalid.field(
            option, f"{error!r} is no error", "give classes such as ValueError, or their names"
        )
    # The worker knows the module of a script that is being run by its real name.
    return error.__qualname__ if error.__module__ == "__main__" else error_name(error)


def _check(request: JobRequest) -> None:
    try:
        msgspec.convert(msgspec.to_builtins(request), JobRequest)
    except ValueError as error:
        raise as_invalid(error, "") from None
    try:
        parse_duration(request.timeout)
    except ValueError as error:
        raise Invalid.field("timeout", str(error)) from None
    if errors := list(errors_of_terms(request.requires, request.limits)):
        raise Invalid(errors)


def as_invalid(error: ValueError, root: str) -> Invalid:
    """msgspec ends its message with the place: "Expected `int`, got `str` - at `$.to`"."""
    message, _, place = str(error).partition(" - at `$")
    path = f"{root}{place.removesuffix('`')}".lstrip(".")
    return Invalid.field(path or "task", message)
