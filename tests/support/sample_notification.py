"""Notifications and channels as the parts that make them would."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tickwork.model.channel import Channel, StoredChannel
from tickwork.model.notification_message import (
    Incident,
    NotificationItem,
    NotificationMessage,
    NotifiedExecution,
    NotifiedJob,
    Severity,
)

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
JOB = NotifiedJob(
    id="j5", name="weekly report", key="weekly", task="reports.weekly", queue="mail", tags=["billing", "eu"]
)
EXECUTION = NotifiedExecution(
    id="e5-1", scheduled_for=NOON, attempt=4, error_type="ValueError", error_message="no such customer"
)


def item(**changes: Any) -> NotificationItem:
    failed = NotificationItem(
        kind="execution.failed",
        severity=Severity.ERROR,
        title="weekly report failed",
        at=NOON,
        job=JOB,
        execution=EXECUTION,
        path="/executions/e5-1",
    )
    return msgspec.structs.replace(failed, **changes)


def storm(count: int) -> NotificationItem:
    """Many facts of one cause."""
    last = msgspec.structs.replace(EXECUTION, id="e9-9", error_message="no such order")
    return item(
        count=count,
        last_at=NOON + timedelta(minutes=5),
        last_job=msgspec.structs.replace(JOB, id="j9", name="nightly"),
        last_execution=last,
    )


def message(
    *items: NotificationItem, incident: Incident | None = None, **changes: Any
) -> NotificationMessage:
    return NotificationMessage(
        id="msg_1",
        tenant_id=1,
        channel_id=1,
        at=NOON,
        items=[*items] or [item()],
        incident=incident,
        **changes,
    )


def channel(kind: str, **fields: Any) -> StoredChannel:
    made: Channel = msgspec.convert({"kind": kind, **fields}, Channel)
    return StoredChannel(1, 1, "ops", made, NOON, NOON)
