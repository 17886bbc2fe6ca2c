"""/notifications and /notification-rules: who is told of what, what was told, and telling it again."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import Cursor, Limit, Text
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.channel import ChannelName
from tickwork.model.field_types import Instant, Page
from tickwork.model.notification_rule import (
    AppliedNotification,
    NotificationRuleRequest,
    NotificationRuleView,
)
from tickwork.model.notification_view import (
    MessageView,
    NotificationFilter,
    NotificationStatus,
    NotificationView,
)
from tickwork.model.public_ids import parse_notification_id


class NotificationQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    channel: ChannelName | None = None
    kind: Annotated[Text, Meta(description="of an event, such as execution.failed")] | None = None
    status: NotificationStatus | None = None
    since: Annotated[Instant, Meta(description="created from this time")] | None = None
    until: Annotated[Instant, Meta(description="created up to this time")] | None = None
    limit: Limit = 50
    cursor: Cursor | None = None


async def list_notifications(call: Call[NotificationQuery, None]) -> Reply:
    """List what channels are told, latest first: what waits, what is on its way, what was sent and what failed.

    A notification is about one cause: `count` facts, of which `item` shows the first and the last. Several may be told
    in one message, which has one `message_id`.
    """
    query = call.query
    wanted = NotificationFilter(query.channel, query.kind, query.status, query.since, query.until)
    page = await call.node.notifications.log.list(call.tenant_id, wanted, query.limit, query.cursor)
    return json_reply(page)


async def get_notification(call: Call[NoQuery, None]) -> Reply:
    """Show a notification."""
    return json_reply(await call.node.notifications.log.get(call.tenant_id, call.id(parse_notification_id)))


async def get_message(call: Call[NoQuery, None]) -> Reply:
    """Show the message that tells a notification: what the channel sends, each attempt to deliver it, and the answer.

    `content` is made by the channel as it is now, without secrets; `items` are all notifications of the message.
    """
    notification = call.id(parse_notification_id)
    content_of = call.node.channels.content_of
    return json_reply(await call.node.notifications.log.message(call.tenant_id, notification, content_of))


async def resend_notification(call: Call[NoQuery, None]) -> Reply:
    """Send the message of a notification again, with the same id, by which a receiver knows it again.

    A message that tells of several notifications is sent as a whole.
    """
    notification = call.id(parse_notification_id)
    return json_reply(await call.node.notifications.log.resend(call.tenant_id, notification))


async def list_rules(call: Call[NoQuery, None]) -> Reply:
    """List the rules by which channels are told of the jobs of a tenant, a tag or a queue."""
    return json_reply(Page(await call.node.notifications.rules.list(call.tenant_id)))


async def get_rule(call: Call[NoQuery, None]) -> Reply:
    """Show a rule."""
    return json_reply(await call.node.notifications.rules.get(call.tenant_id, call.path["name"]))


async def set_rule(call: Call[NoQuery, NotificationRuleRequest]) -> Reply:
    """Create a rule, or replace it.

    With `tag` or `queue` it is for the jobs of these, otherwise for the whole tenant. It applies in addition to what
    jobs say in `notify`. Where it asks for `completed`, it takes effect within a second.
    """
    return json_reply(await call.node.notifications.rules.set(call.tenant_id, call.path["name"], call.body))


async def delete_rule(call: Call[NoQuery, None]) -> Reply:
    """Delete a rule."""
    return json_reply(await call.node.notifications.rules.delete(call.tenant_id, call.path["name"]))


async def get_notify(call: Call[NoQuery, None]) -> Reply:
    """Show what is told about a job, to which channels, and why; also what is not told, and why not."""
    job = await call.node.jobs.get(call.tenant_id, await call.job())
    return json_reply(Page(await call.node.notifications.rules.applied_to(call.tenant_id, job)))


_RULE = json_content(
    NotificationRuleRequest, example={"tag": "billing", "on": ["failed", "recovered"], "to": ["ops"]}
)
_RULE_PATH = "/v1/notification-rules/{name}"

ROUTES = (
    Route(
        "GET",
        "/v1/notifications",
        list_notifications,
        Scope.READ,
        Page[NotificationView],
        query=NotificationQuery,
    ),
    Route("GET", "/v1/notifications/{id}", get_notification, Scope.READ, NotificationView),
    Route(
        "GET",
        "/v1/notifications/{id}/message",
        get_message,
        Scope.READ,
        MessageView,
        problems=(CONFLICT,),
    ),
    Route(
        "POST",
        "/v1/notifications/{id}/resend",
        resend_notification,
        Scope.WRITE,
        NotificationView,
        problems=(CONFLICT,),
    ),
    Route("GET", "/v1/notification-rules", list_rules, Scope.READ, Page[NotificationRuleView]),
    Route("GET", _RULE_PATH, get_rule, Scope.READ, NotificationRuleView),
    Route("PUT", _RULE_PATH, set_rule, Scope.WRITE, NotificationRuleView, body=_RULE),
    Route("DELETE", _RULE_PATH, delete_rule, Scope.WRITE, NotificationRuleView),
    Route("GET", "/v1/jobs/{id}/notify", get_notify, Scope.READ, Page[AppliedNotification]),
)
