"""What users are told: kinds of news, how severe each is, and the message that a channel delivers."""

from enum import StrEnum
from typing import Any, Literal

import msgspec

from tickwork.model.field_types import Instant


class Severity(StrEnum):
    """In ascending order."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class NotifiedJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    name: str | None = None
    key: str | None = None
    task: str | None = None
    queue: str | None = None
    tags: list[str] = []


class NotifiedExecution(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    scheduled_for: Instant | None = None
    attempt: int | None = None
    error_type: str | None = None
    error_message: str | None = None


class NotificationItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts of one cause: the first and the last of them, and how many there were."""

    kind: str  # of an event, such as execution.failed
    severity: Severity
    title: str  # one line of plain text: what happened
    at: Instant  # of the first
    last_at: Instant | None = None  # of the last, if there are several
    count: int = 1
    job: NotifiedJob | None = None  # of the first
    execution: NotifiedExecution | None = None
    last_job: NotifiedJob | None = None
    last_execution: NotifiedExecution | None = None
    detail: dict[str, Any] = {}
    path: str | None = None  # where the dashboard shows it, such as /executions/ID


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """For channels that keep incidents: what opens one closes it again under the same key."""

    key: str
    action: Literal["open", "close"]


class NotificationMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one delivery tells a channel."""

    id: str  # the receiver's dedupe id, the same at every attempt and when it is sent again
    tenant_id: int
    channel_id: int
    at: Instant
    items: list[NotificationItem]  # one, or several that are told together
    incident: Incident | None = None  # only with one item
    is_test: bool = False
