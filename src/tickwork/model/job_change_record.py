"""A change of a job: when, by whom, and which fields, each with its old and its new value.

Values are shown as the API shows them: secrets are replaced by marks, and what is very long is cut. A secret that was
replaced by another one is a change from a mark to a mark.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from tickwork.model.access import Author
from tickwork.model.field_types import Instant
from tickwork.model.http_secrets import redacted
from tickwork.model.http_target import target_view
from tickwork.model.job import JobRequest, deadline_view, run_settings, seconds_of
from tickwork.model.mask_command_env import redacted_env
from tickwork.model.public_ids import key_id
from tickwork.model.quantities import parse_duration

_MOST_FIELDS = 30
_LONGEST_VALUE = 300  # characters, as JSON
_DEEPEST = 4  # levels of objects whose fields are compared one by one

JobChangeKind = Literal["created", "changed", "paused", "resumed", "cancelled", "failed"]


class ChangeAuthor(msgspec.Struct, frozen=True):
    """The API key that a change was made with."""

    key: str
    name: str
    session: bool = False  # by a browser that signed in with the key


class FieldChange(msgspec.Struct, frozen=True):
    field: str  # such as retry.max_attempts
    old: Any
    new: Any


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody did to a job."""

    at: Instant
    kind: JobChangeKind
    version: int | None  # of the job, from then on
    by: ChangeAuthor | None  # null: not known, or Tickwork itself
    fields: list[FieldChange]  # of a job that was changed
    more_fields: int = 0  # that changed, too


class ChangeNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the event of a change says besides the version."""

    by: ChangeAuthor | None = None
    fields: list[FieldChange] = []
    more_fields: int = 0


def author_view(author: Author | None) -> ChangeAuthor | None:
    return ChangeAuthor(key_id(author.key_id), author.name, author.is_session) if author else None


def note_of(author: Author | None, fields: list[FieldChange]) -> ChangeNote:
    return ChangeNote(
        by=author_view(author),
        fields=fields[:_MOST_FIELDS],
        more_fields=max(len(fields) - _MOST_FIELDS, 0),
    )


def changed_fields(before: JobRequest, after: JobRequest) -> list[FieldChange]:
    """Defaults count as given, so that it makes no difference whether a job names them."""
    old, new = (_leaves(_effective(each, show_secrets=True)) for each in (before, after))
    old_shown, new_shown = (_leaves(_effective(each, show_secrets=False)) for each in (before, after))
    return [
        FieldChange(path, _short(old_shown.get(path)), _short(new_shown.get(path)))
        for path in dict.fromkeys([*old, *new])
        if old.get(path) != new.get(path)
    ]


def _effective(request: JobRequest, *, show_secrets: bool) -> dict[str, Any]:
    run = run_settings(request)
    http = request.http if show_secrets or request.http is None else redacted(request.http)
    fields = {
        "name": request.name,
        "key": request.key,
        "task": request.task,
        "http": target_view(http) if http else None,
        "command": request.command,
        "env": request.env if show_secrets else redacted_env(request.env),
        "cwd": request.cwd,
        "stdin": request.stdin,
        "exit_codes": request.exit_codes if request.command else None,
        "process_limits": request.process_limits if request.command else None,
        "payload": None if request.payload is msgspec.UNSET else request.payload,
        "schedule": request.schedule,
        "timezone": request.timezone,
        "priority": run.priority,
        "queue": run.queue,
        "timeout": parse_duration(run.timeout).total_seconds(),
        "warn_after": seconds_of(request.warn_after),
        "start_within": seconds_of(request.start_within),
        "deadline": deadline_view(request.deadline),
        "retry": request.retry.policy(),
        "on_worker_lost": request.on_worker_lost,
        "overlap": request.overlap,
        "catch_up": request.catch_up.in_seconds(),
        "requires": request.requires,
        "limits": request.limits,
        "fair_share": request.fair_share,
        "depends_on": request.depends_on,
        "tags": request.tags,
        "description": request.description,
        "owner": request.owner,
        "retention": request.retention.view() if request.retention else None,
    }
    built: dict[str, Any] = msgspec.to_builtins(fields)
    return built


def _leaves(fields: dict[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in _walk(fields, "", 0) if value is not None}


def _walk(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict) or depth > _DEEPEST:
        yield path, value
        return
    for name, each in value.items():
        yield from _walk(each, f"{path}.{name}" if path else name, depth + 1)


def _short(value: Any) -> Any:
    text = msgspec.json.encode(value).decode()
    return value if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
