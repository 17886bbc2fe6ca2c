"""Compiles a JobRequest, as users write it, to a JobSpec. Reports all errors of a request together."""

import difflib
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import jsonschema_rs
import msgspec
from msgspec import UNSET

from tickwork.model.command import command_errors
from tickwork.model.deadline import Deadline, parse_deadline
from tickwork.model.encode_job_target import secret_mark_errors, target_of, task_of
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.http_target import target_errors, url_error
from tickwork.model.job import (
    PRIORITIES,
    JobRequest,
    JobSpec,
    may_keep_stored_secrets,
    run_settings,
    seconds_of,
)
from tickwork.model.job_time_limits import time_limit_errors
from tickwork.model.notification_rule import asks_for_completion
from tickwork.model.parsed_schedule_and_preview import Once, Recurring, Schedule
from tickwork.model.quantities import parse_duration
from tickwork.model.requires_limits_fair_share import placement_errors, placement_of
from tickwork.model.retention import retention_errors
from tickwork.model.task import BUILT_IN_TASKS, NO_DEFAULTS, TaskDefaults, with_task_defaults
from tickwork.schedule.parse import parse_schedule

_LONGEST_PAYLOAD = 512 * 1024
_WITHOUT_BODY = ("GET", "HEAD", "DELETE")
_INVALID_SCHEDULE = Once(None, "")

_MAX_ERRORS = 20
_MAX_MESSAGE = 200
_SHOWN_PER_END = 90


class _ParseOnce:
    """parse_schedule with a cache, for the jobs of one request. The seed matters only to schedules with an H, which it
    spreads."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._parsed: dict[tuple[bytes, str | None, str], Schedule] = {}

    def __call__(self, schedule: str | dict[str, Any] | None, timezone: str | None, *, seed: str) -> Schedule:
        text = msgspec.json.encode(schedule)
        key = (text, timezone, seed if b"H" in text.upper() else "")
        if key not in self._parsed:
            self._parsed[key] = parse_schedule(schedule, timezone, now=self._now, seed=seed)
        return self._parsed[key]


class Compiler:
    """Compiles the jobs of one request. A job that differs from the one before only in its payload and dependencies
    reuses that one's result. Other jobs may still share a schedule, which is parsed once."""

    def __init__(self, now: datetime) -> None:
        self._parse_schedule = _ParseOnce(now)
        self._last: tuple[JobRequest, JobSpec] | None = None

    def compile(self, request: JobRequest, defaults: TaskDefaults = NO_DEFAULTS) -> JobSpec:
        """Raises Invalid, which names every bad field. `defaults`: those of the job's task."""
        shared = msgspec.structs.replace(request, payload=UNSET, depends_on=[], ref=None)
        if request.task and self._last and self._last[0] == shared:
            return _replace_payload(self._last[1], request)
        spec = _compile(with_task_defaults(request, defaults), self._parse_schedule)
        self._last = shared, spec
        return spec


def _replace_payload(spec: JobSpec, request: JobRequest) -> JobSpec:
    """The spec with the payload and the dependencies of this request, which equals the spec's request otherwise."""
    errors: list[FieldError] = []
    payload = _payload(request, errors)
    if errors:
        raise Invalid(errors)
    new_request = msgspec.structs.replace(
        spec.request, payload=request.payload, depends_on=request.depends_on, ref=request.ref
    )
    return msgspec.structs.replace(spec, request=new_request, payload=payload)


def _compile(request: JobRequest, parse: _ParseOnce) -> JobSpec:
    errors = [*_target_errors(request), *placement_errors(request.requires, request.limits)]
    schedule = _schedule(request, parse, errors)
    payload = _payload(request, errors)
    run = run_settings(request)
    jitter = schedule.timing.jitter if isinstance(schedule, Recurring) else timedelta(0)
    errors.extend(time_limit_errors(request, jitter))
    deadline = _deadline(request, schedule, errors)
    _check_durations(request, errors)
    errors.extend(retention_errors(request.retention))
    if request.heartbeat_url and (error := url_error(request.heartbeat_url)):
        errors.append(error._replace(path="heartbeat_url"))
    if errors:
        raise Invalid(errors)
    return JobSpec(
        request=request,
        task=task_of(request),
        queue=run.queue,
        placement=placement_of(
            request.requires,
            request.limits,
            request.fair_share,
            tells_completion=asks_for_completion(request.notify),
            start_within=seconds_of(request.start_within),
            deadline=deadline.text() if deadline else None,
            program=request.command[0] if request.command else None,
        ).text(),
        priority=PRIORITIES.index(run.priority),
        payload=payload,
        target=target_of(request),
        timeout=parse_duration(run.timeout).total_seconds(),
        warn_after=seconds_of(request.warn_after),
        catch_up=request.catch_up,
        schedule=schedule,
        definition=msgspec.json.encode(
            msgspec.structs.replace(request, payload=UNSET, depends_on=[], ref=None)
        ),
    )


def _target_errors(request: JobRequest) -> Iterator[FieldError]:
    if sum(each is not None for each in (request.task, request.http, request.command)) != 1:
        hint = "a Python task's name, an HTTP call, or a program with its arguments"
        yield FieldError("task", "give exactly one of task, http and command", hint)
    yield from command_errors(request)
    if not may_keep_stored_secrets(request):
        yield from secret_mark_errors(request)
    if request.task in BUILT_IN_TASKS:
        hint = BUILT_IN_TASKS[request.task]
        yield FieldError("task", f"{request.task!r} is the name of a built-in task", hint)
    if request.http:
        yield from target_errors(request.http)
        if request.http.method in _WITHOUT_BODY and request.http.send_parents:
            yield FieldError("http.send_parents", f"a {request.http.method} request has no body", "use POST")
        if request.http.method in _WITHOUT_BODY and request.payload not in (UNSET, None):
            yield FieldError(
                "payload", f"a {request.http.method} request has none", "use POST, or put it into the URL"
            )


def _schedule(request: JobRequest, parse: _ParseOnce, errors: list[FieldError]) -> Schedule:
    try:
        return parse(request.schedule, request.timezone, seed=request.key or request.name or "")
    except Invalid as invalid:
        errors.extend(invalid.errors)
        return _INVALID_SCHEDULE


def _deadline(request: JobRequest, schedule: Schedule, errors: list[FieldError]) -> Deadline | None:
    """A time of day is one of the job's time zone."""
    if request.deadline is None:
        return None
    of_schedule = schedule.timing.canonical.get("timezone") if isinstance(schedule, Recurring) else None
    try:
        return parse_deadline(request.deadline, request.timezone or of_schedule or "UTC")
    except ValueError as error:
        errors.append(
            FieldError("deadline", str(error), 'a time of day such as "06:00", or a duration such as "30m"')
        )
        return None


def _payload(request: JobRequest, errors: list[FieldError]) -> bytes:
    if request.payload is UNSET:
        return b"{}" if request.task else b"null"
    payload = msgspec.json.encode(request.payload)
    if len(payload) > _LONGEST_PAYLOAD:
        errors.append(
            FieldError(
                "payload", f"is {len(payload)} bytes long; {_LONGEST_PAYLOAD} at most", "pass a reference"
            )
        )
    return payload


def _check_durations(request: JobRequest, errors: list[FieldError]) -> None:
    for name, value in request.retry.given("initial", "max").items():
        _check_duration(f"retry.{name}", value, errors)
    _check_duration("catch_up.within", request.catch_up.within, errors)


def _check_duration(path: str, value: str | float, errors: list[FieldError]) -> None:
    try:
        parse_duration(value)
    except ValueError as error:
        errors.append(FieldError(path, str(error)))


def unknown_task(name: str, known: Iterable[str]) -> FieldError:
    close = difflib.get_close_matches(name, list(known), n=1)
    wait = 'give "unknown_task": "wait" to create the job before a worker offers the task'
    hint = f"did you mean {close[0]!r}?" if close else f"start a worker that offers it, or {wait}"
    return FieldError("task", f"no worker has offered a task named {name!r}", hint)


def check_payload(request: JobRequest, schema: str | None) -> bytes:
    """The payload of this request as it is stored. Raises Invalid. `schema`: of the payloads of its task, if known."""
    errors = [error for error in _target_errors(request) if error.path == "payload"]
    payload = _payload(request, errors)
    if schema is not None:
        errors.extend(payload_errors(request.payload, schema))
    if errors:
        raise Invalid(errors)
    return payload


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


def schema_error(schema: str) -> str | None:
    """What is wrong with a schema of payloads."""
    try:
        _validator(schema)
    except ValueError as error:
        return f"is not a valid schema: {_short(str(error))}"
    return None


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
