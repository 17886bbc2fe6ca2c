"""The options of a task, checked and applied to its job request."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tickwork.model.errors import FieldError, Invalid
from tickwork.model.job import JobRequest, timeout_errors
from tickwork.model.placement import placement_errors
from tickwork.model.retry_policy import error_name
from tickwork.model.validation import type_errors

Errors = (
    type[BaseException] | str | Sequence[type[BaseException] | str]
)  # classes as after `except`, or their names

_MOST_RETRIES = 99
_OPTIONS = {
    "retry.only_on": "retry_on",
    "retry.never_on": "never_retry_on",
}  # the option for each field of a job
_TERMS = ("requires", "limits")


def with_options(
    request: JobRequest,
    *,
    retries: int | None = None,
    retry_on: Errors | None = None,
    never_retry_on: Errors | None = None,
    **given: Any,
) -> JobRequest:
    """The request with the options that are not None. Raises Invalid with everything that is wrong."""
    errors: list[FieldError] = []
    retry = {
        "max_attempts": _attempts(retries, errors),
        "only_on": _names("retry_on", retry_on, errors),
        "never_on": _names("never_retry_on", never_retry_on, errors),
    }
    changed = msgspec.structs.replace(
        request, retry=msgspec.structs.replace(request.retry, **_given(retry)), **_given(given)
    )
    errors.extend(_errors_of(changed))
    if errors:
        raise Invalid(errors)
    return changed


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _attempts(retries: Any, errors: list[FieldError]) -> int | None:
    if retries is None:
        return None
    if not isinstance(retries, int) or isinstance(retries, bool) or not 0 <= retries <= _MOST_RETRIES:
        hint = "how often to try again after the first try failed"
        errors.append(
            FieldError("retries", f"must be a whole number from 0 to {_MOST_RETRIES}; got {retries!r}", hint)
        )
        return None
    return retries + 1


def _names(option: str, given: Errors | None, errors: list[FieldError]) -> list[str] | None:
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Sequence):
        given = [given]
    return [name for each in given if (name := _name(option, each, errors)) is not None]


def _name(option: str, error: object, errors: list[FieldError]) -> str | None:
    if isinstance(error, str):
        return error
    if not (isinstance(error, type) and issubclass(error, BaseException)):
        hint = "give classes such as ValueError, or their names"
        errors.append(FieldError(option, f"{error!r} is no error", hint))
        return None
    # A worker imports the script by its module name, so its classes are not in __main__ there.
    return error.__qualname__ if error.__module__ == "__main__" else error_name(error)


def _errors_of(request: JobRequest) -> Iterator[FieldError]:
    try:
        document = msgspec.to_builtins(request)
        msgspec.convert(document, JobRequest)
    except TypeError as error:
        yield FieldError("options", str(error), "give text, numbers, lists and dicts")
    except msgspec.ValidationError:
        found = list(type_errors(document, JobRequest))
        yield from (fault._replace(path=_OPTIONS.get(fault.path, fault.path)) for fault in found)
        if not any(fault.path.startswith(_TERMS) for fault in found):
            yield from placement_errors(request.requires, request.limits)
    else:
        if request.timeout is not msgspec.UNSET:
            yield from timeout_errors(request.timeout)
        yield from placement_errors(request.requires, request.limits)
