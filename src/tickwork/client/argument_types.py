"""Types of the clients' keyword arguments, and of responses that only the clients use."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict

import msgspec

from tickwork.model.access import KeyView
from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.command import ExitCodes
from tickwork.model.errors import FieldError
from tickwork.model.http_target import HttpTarget
from tickwork.model.job import (
    Dependency,
    IfExists,
    JobStatus,
    JobStatusName,
    OnWorkerLost,
    Priority,
    RetryRequest,
    UnknownTask,
)
from tickwork.model.job_filter import Sort
from tickwork.model.job_health import Health
from tickwork.model.notification_rule import NotifyEntry
from tickwork.model.overlap import Overlap
from tickwork.model.process_limits import ProcessLimits
from tickwork.model.requires_limits_fair_share import FairShare, Limit, Requires
from tickwork.model.retention import Retention


class Problem(msgspec.Struct, frozen=True):
    """An error in the format of RFC 9457."""

    type: str = ""
    title: str = ""
    detail: str = ""
    errors: list[dict[str, Any]] = []
    request_id: str | None = None

    @property
    def fields(self) -> list[FieldError]:
        return [FieldError(e.get("path", ""), e.get("message", ""), e.get("hint")) for e in self.errors]


class NewKey(KeyView, frozen=True, kw_only=True):
    """A new API key, with its secret, which is never shown again."""

    secret: str


class JobFields(TypedDict, total=False):
    """The fields of a job. Objects may be given as dicts."""

    name: str
    key: str
    if_exists: IfExists
    task: str
    unknown_task: UnknownTask
    http: HttpTarget | dict[str, Any]
    command: list[str]
    env: dict[str, str]
    cwd: str
    stdin: str
    exit_codes: ExitCodes | dict[str, Any]
    process_limits: ProcessLimits | dict[str, Any]
    payload: Any
    schedule: str | dict[str, Any]
    timezone: str
    priority: Priority
    queue: str
    retry: RetryRequest | dict[str, Any]
    timeout: str | float
    warn_after: str | float
    start_within: str | float
    deadline: str | float
    on_worker_lost: OnWorkerLost
    overlap: Overlap
    catch_up: CatchUp | dict[str, Any]
    requires: Requires | dict[str, Any]
    limits: list[Limit] | list[dict[str, Any]]
    fair_share: FairShare | dict[str, Any]
    depends_on: list[str] | list[Dependency] | list[str | Dependency] | list[dict[str, Any]]
    ref: str
    tags: list[str]
    description: str
    owner: str
    heartbeat_url: str
    notify: list[NotifyEntry] | list[dict[str, Any]]
    retention: Retention | dict[str, Any]


class EventFilters(TypedDict, total=False):
    """The arguments of follow_events."""

    kind: str
    job: str
    task: str
    queue: str
    tag: str
    after: int


class JobFilters(TypedDict, total=False):
    """The filters of list_jobs, without the cursor."""

    status: JobStatus | JobStatusName | None
    health: Health | None
    task: str | None
    queue: str | None
    priority: Priority | None
    tag: str | Sequence[str] | None
    owner: str | None
    recurring: bool | None
    q: str | None
    key: str | None
    created_after: datetime | None
    created_before: datetime | None
    due_after: datetime | None
    due_before: datetime | None
    sort: Sort | None
    limit: int | None


class DeadLetterFields(TypedDict, total=False):
    """A filter of dead letters."""

    task: str
    queue: str
    job: str
    error: str
    fingerprint: str
    since: datetime
    until: datetime
