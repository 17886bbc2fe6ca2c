"""The options of `@app.task(…)` and `Task.options(…)`: checked, and applied to the job request of a task."""

from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

import msgspec

from tickwork.model.errors import FieldError, Invalid
from tickwork.model.explain_type_errors import type_errors
from tickwork.model.field_types import Duration
from tickwork.model.job import JobRequest, Priority, UnknownTask
from tickwork.model.job_time_limits import time_limit_errors
from tickwork.model.notification_rule import NotifyEntry
from tickwork.model.requires_limits_fair_share import FairShare, Limit, Requires, placement_errors
from tickwork.model.retention import Retention, retention_errors
from tickwork.model.retry_policy import error_name

Errors = (
    type[BaseException] | str | Sequence[type[BaseException] | str]
)  # classes as after `except`, or their names

_MOST_RETRIES = 99
_RETRY_OPTIONS = {  # the option for each field of a job
    "retry.only_on": "retry_on",
    "retry.never_on": "never_retry_on",
}
_PLACEMENT_FIELDS = ("requires", "limits")


class TaskOptions(TypedDict, total=False):
    """None means that an option is not given."""

    retries: int | None
    retry_on: Errors | None
    never_retry_on: Errors | None
    timeout: Duration | None
    warn_after: Duration | None
    start_within: Duration | None
    deadline: Duration | None
    queue: str | None
    priority: Priority | None
    requires: Requires | None
    unknown_task: UnknownTask | None
    limits: list[Limit] | None
    fair_share: FairShare | None
    tags: list[str] | None
    description: str | None
    owner: str | None
    heartbeat_url: str | None
    notify: list[NotifyEntry] | list[dict[str, Any]] | None
    retention: Retention | dict[str, Any] | None


def check_option_names(options: TaskOptions) -> None:
    for name in options:
        if name not in TaskOptions.__annotations__:
            raise TypeError(f"got an unexpected keyword argument {name!r}")


def with_options(request: JobRequest, options: TaskOptions, **job_fields: Any) -> JobRequest:
    """The request with the options and fields that are not None. Raises Invalid with everything that is wrong."""
    errors: list[FieldError] = []
    fields: dict[str, Any] = {**options, **job_fields}
    retry = {
        "max_attempts": _attempts(fields.pop("retries", None), errors),
        "only_on": _names("retry_on", fields.pop("retry_on", None), errors),
        "never_on": _names("never_retry_on", fields.pop("never_retry_on", None), errors),
    }
    changed = msgspec.structs.replace(
        request, retry=msgspec.structs.replace(request.retry, **_given(retry)), **_given(fields)
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
        hint = "how often to retry after the first failure"
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
    return [name for error in given if (name := _name(option, error, errors)) is not None]


def _name(option: str, error: object, errors: list[FieldError]) -> str | None:
    if isinstance(error, str):
        return error
    if not (isinstance(error, type) and issubclass(error, BaseException)):
        hint = "give classes such as ValueError, or their names"
        errors.append(FieldError(option, f"{error!r} is not an exception class", hint))
        return None
    # A worker imports the script by its module name, so its classes are not in __main__ there.
    return error.__qualname__ if error.__module__ == "__main__" else error_name(error)


def _errors_of(request: JobRequest) -> Iterator[FieldError]:
    try:
        document = msgspec.to_builtins(request)
        checked = msgspec.convert(document, JobRequest)
    except TypeError as error:
        yield FieldError("options", str(error), "give text, numbers, lists and dicts")
    except msgspec.ValidationError:
        found = list(type_errors(document, JobRequest))
        yield from (error._replace(path=_RETRY_OPTIONS.get(error.path, error.path)) for error in found)
        if not any(error.path.startswith(_PLACEMENT_FIELDS) for error in found):
            yield from placement_errors(request.requires, request.limits)
    else:
        yield from time_limit_errors(request)
        yield from placement_errors(request.requires, request.limits)
        yield from retention_errors(checked.retention)
