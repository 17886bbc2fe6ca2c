"""Notifications as users see them: what was told, to which channel, and what became of it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from tickwork.model.channel import ChannelError, ChannelPreview
from tickwork.model.execution import AttemptOutcome
from tickwork.model.field_types import Instant
from tickwork.model.notification_message import NotificationItem, NotificationMessage, Severity


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


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to deliver a message."""

    attempt: int
    outcome: AttemptOutcome | None  # None while it runs
    started_at: Instant | None
    finished_at: Instant | None
    error: ChannelError | None


class MessageView(msgspec.Struct, frozen=True, kw_only=True):
    """The message that a notification is told in, and how its delivery goes."""

    id: str  # the receiver's dedupe id
    channel: str
    status: NotificationStatus
    created_at: Instant
    ended_at: Instant | None
    items: list[NotificationItem]  # of all notifications that it tells
    attempts: list[DeliveryAttempt]  # of its last delivery; none once the history is deleted
    answer: Any  # what the receiver said
    content: ChannelPreview | None  # as its channel sends it now; null if the channel was deleted


class StoredMessage(NamedTuple):
    """A message, and the execution that delivers it."""

    message: NotificationMessage
    channel: str
    status: NotificationStatus
    created_at: Instant
    ended_at: Instant | None
    job: int
    scheduled_for: datetime | None  # None: its delivery is no longer known


class NotificationFilter(NamedTuple):
    channel: str | None = None
    kind: str | None = None
    status: NotificationStatus | None = None
    since: datetime | None = None
    until: datetime | None = None


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
