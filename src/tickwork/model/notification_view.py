"""Notifications as users see them: what was told, to which channel, and what became of it."""

from enum import StrEnum
from typing import NamedTuple

import msgspec

from tickwork.model.field_types import Instant
from tickwork.model.notification import NotificationItem, Severity


class NotificationStatus(StrEnum):
    WAITING = "waiting"  # it is gathered, or its channel is not told anything just now
    SENDING = "sending"  # its message is on its way
    SENT = "sent"
    FAILED = "failed"


class NotificationView(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel is told about one cause."""

    id: str
    channel: str
    kind: str
    severity: Severity
    status: NotificationStatus
    count: int
    item: NotificationItem
    created_at: Instant
    due_at: Instant  # when it is told, or was to be
    message_id: str | None = (
        None  # the receiver's dedupe id; several notifications may be told in one message
    )
    attempts: int = 0  # of the delivery
    ended_at: Instant | None = None
    error: str | None = None  # of the last attempt that failed, or why it is not told


class NotificationFilter(NamedTuple):
    channel: str | None = None
    kind: str | None = None
    status: NotificationStatus | None = None


def item_of_all(
    first: NotificationItem, last: NotificationItem | None, count: int, severity: Severity
) -> NotificationItem:
    """The first fact of a cause, with the last one, their number and the worst severity."""
    if last is None:
        return first
    return msgspec.structs.replace(
        first,
        severity=severity,
        count=count,
        last_at=last.at,
        last_job=last.job,
        last_execution=last.execution,
    )
