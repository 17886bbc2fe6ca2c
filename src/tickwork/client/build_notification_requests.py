"""Builds the requests about notifications, as plain values."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tickwork.client.build_requests import Call, get, post
from tickwork.model.field_types import Duration, Page
from tickwork.model.notification_rule import (
    AppliedNotification,
    NotificationRuleRequest,
    NotificationRuleView,
    RuleNews,
)
from tickwork.model.notification_view import MessageView, NotificationStatus, NotificationView


def list_notifications(
    *,
    channel: str | None = None,
    kind: str | None = None,
    status: NotificationStatus | str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Page[NotificationView]]:
    """What channels are told, latest first: what waits, what is on its way, what was sent and what failed."""
    return get("notifications", answer=Page[NotificationView], query=locals())


def get_notification(notification_id: str) -> Call[NotificationView]:
    """A notification."""
    return get("notifications", notification_id, answer=NotificationView)


def get_notification_message(notification_id: str) -> Call[MessageView]:
    """The message that tells a notification, and each attempt to deliver it."""
    return get("notifications", notification_id, "message", answer=MessageView)


def resend_notification(notification_id: str) -> Call[NotificationView]:
    """Send the message of a notification again, with the same id."""
    return post("notifications", notification_id, "resend", answer=NotificationView)


def list_notification_rules() -> Call[Page[NotificationRuleView]]:
    """The rules by which channels are told of the jobs of the tenant, a tag or a queue."""
    return get("notification-rules", answer=Page[NotificationRuleView])


def get_notification_rule(name: str) -> Call[NotificationRuleView]:
    """A rule."""
    return get("notification-rules", name, answer=NotificationRuleView)


def set_notification_rule(
    name: str,
    *,
    on: Sequence[RuleNews],
    to: Sequence[str],
    tag: str | None = None,
    queue: str | None = None,
    dead_letters_above: int | None = None,
    stuck_after: Duration | None = None,
) -> Call[NotificationRuleView]:
    """Create a rule, or replace it: for the jobs of a tag or a queue, or for the whole tenant."""
    rule = NotificationRuleRequest(
        on=[*on],
        to=[*to],
        tag=tag,
        queue=queue,
        dead_letters_above=dead_letters_above,
        stuck_after=stuck_after,
    )
    body = msgspec.json.encode(rule)
    return Call(method="PUT", path=("notification-rules", name), answer=NotificationRuleView, body=body)


def delete_notification_rule(name: str) -> Call[NotificationRuleView]:
    """Delete a rule."""
    return Call(method="DELETE", path=("notification-rules", name), answer=NotificationRuleView)


def get_job_notify(job_id: str) -> Call[Page[AppliedNotification]]:
    """What is told about a job, to which channels, and why."""
    return get("jobs", job_id, "notify", answer=Page[AppliedNotification])
