"""The HTTP call or the command of a job: as its worker gets it, and with the stored secrets in place of marks."""

from collections.abc import Iterable, Iterator

import msgspec

from tickwork.model.command import COMMAND_TASK, command_of
from tickwork.model.errors import FieldError
from tickwork.model.http_secrets import mark_errors, with_stored_secrets
from tickwork.model.job import HTTP_TASK, JobRequest
from tickwork.model.mask_command_env import env_mark_errors, with_stored_env

COMMAND_FIELDS = ("command", "env", "cwd", "stdin")  # a secret was given for these together


def task_of(request: JobRequest) -> str:
    return request.task or (COMMAND_TASK if request.command else HTTP_TASK)


def target_of(request: JobRequest) -> bytes | None:
    target = request.http or command_of(request)
    return msgspec.json.encode(target) if target else None


def secret_mark_errors(request: JobRequest) -> Iterator[FieldError]:
    """An error for each mark that stands for a secret: a new job has none stored."""
    if request.http:
        yield from mark_errors(request.http)
    yield from env_mark_errors(request.env)


def with_stored_headers(request: JobRequest, stored: JobRequest, given: Iterable[str]) -> JobRequest:
    """`given`: the headers that the request names."""
    if request.http is None:
        return request
    return msgspec.structs.replace(request, http=with_stored_secrets(request.http, stored.http, given))


def with_stored_variables(request: JobRequest, stored: JobRequest, given: Iterable[str]) -> JobRequest:
    """`given`: the variables that the request names."""
    return msgspec.structs.replace(request, env=with_stored_env(request, stored, given))
