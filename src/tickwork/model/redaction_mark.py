"""Requests that send back the mark *** that answers show in place of a secret.

The mark means: keep the stored secret. That is allowed only for the destination that the secret was given for.
Otherwise anybody who may change a job could have its secrets sent to another server.
"""

from collections.abc import Iterable, Iterator

import msgspec

from tickwork.model.destination import destination_of
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.http_target import target_errors
from tickwork.model.job import HttpTarget, JobRequest
from tickwork.model.redact_http_secrets import (
    REDACTED,
    is_secret_name,
    replace_secret_parameters,
    secret_parameters,
)

_HINT = "send the value itself"


def may_keep_stored_secrets(request: JobRequest) -> bool:
    """Whether the request may update an existing job, whose secrets its marks can stand for."""
    return request.key is not None and request.if_exists != "error"


def mark_errors(target: HttpTarget) -> Iterator[FieldError]:
    """An error for each mark: the request must send the secrets themselves."""
    for name, value in target.headers.items():
        if value == REDACTED and is_secret_name(name):
            path = f"http.headers.{name[:80]}"
            yield FieldError(path, f"{REDACTED} stands for a secret, and none is stored", _HINT)
    for name, value in secret_parameters(target.url):
        if value == REDACTED:
            told = f"{name[:80]}={REDACTED} stands for a secret, and none is stored"
            yield FieldError("http.url", told, _HINT)


def with_stored_secrets(target: HttpTarget, stored: HttpTarget | None, given: Iterable[str]) -> HttpTarget:
    """The target with the stored secrets in place of marks. `given`: the headers that the request names. Invalid if a
    secret is not stored, or was given for another destination."""
    if target_errors(target):
        return target  # the caller refuses it for these errors
    if stored is not None:
        _refuse_other_destination(target, stored, set(given))
        target = _restored(target, stored)
    if errors := list(mark_errors(target)):
        raise Invalid(errors)
    return target


def _refuse_other_destination(target: HttpTarget, stored: HttpTarget, given: set[str]) -> None:
    if destination_of(target.url) == destination_of(stored.url):
        return
    meant_for = f"was given for {destination_of(stored.url)}, and the URL leads elsewhere"
    errors = [
        FieldError(
            f"http.headers.{name[:80]}", meant_for, "send its value again; in a patch, null takes it away"
        )
        for name, value in target.headers.items()
        if is_secret_name(name) and (value == REDACTED or name not in given)
    ]
    errors += [
        FieldError("http.url", f"the value of {name[:80]} {meant_for}", _HINT)
        for name, value in secret_parameters(target.url)
        if value == REDACTED
    ]
    if errors:
        raise Invalid(errors)


def _restored(target: HttpTarget, stored: HttpTarget) -> HttpTarget:
    headers = {name.lower(): value for name, value in stored.headers.items()}
    values: dict[str, list[str]] = {}
    for name, value in secret_parameters(stored.url):
        values.setdefault(name, []).append(value)

    def restore(name: str, value: str) -> str:
        return values[name].pop(0) if value == REDACTED and values.get(name) else value

    return msgspec.structs.replace(
        target,
        url=replace_secret_parameters(target.url, restore),
        headers={
            name: headers.get(name.lower(), value) if value == REDACTED and is_secret_name(name) else value
            for name, value in target.headers.items()
        },
    )
