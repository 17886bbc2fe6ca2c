"""Webhooks: the facts as JSON, signed as Standard Webhooks specifies.

One item is the body itself; several are the `items` of a body of the kind notification.summary.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tickwork.execute.runners.notify.channel_http_request_type import ChannelRequest, json_request
from tickwork.execute.runners.notify.render_message import Rendered, RenderedItem
from tickwork.model.channel import WebhookChannel
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.webhook_signature import sign

SUMMARY = "notification.summary"


def webhook_request(
    channel: WebhookChannel,
    message: NotificationMessage,
    rendered: Rendered,
    secrets: Sequence[str],
    timestamp: int,
) -> ChannelRequest:
    """`secrets`: those that sign it."""
    request = json_request(channel.url, webhook_body(channel, message, rendered))
    signature = sign(secrets, message.id, timestamp, request.body)
    headers = {
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature,
    }
    return request._replace(headers={**request.headers, **headers})


def webhook_body(channel: WebhookChannel, message: NotificationMessage, rendered: Rendered) -> dict[str, Any]:
    has_text = channel.template is not None and channel.template.body is not None
    items = [_item(item, has_text=has_text) for item in rendered.items]
    test = {"test": True} if message.is_test else {}
    if len(message.items) == 1:
        return {**items[0], "title": rendered.title, **test}
    return {
        "kind": SUMMARY,
        "at": message.at,
        "severity": rendered.severity,
        "title": rendered.title,
        "count": sum(item.count for item in message.items),
        "items": items,
        "left_off": rendered.left_off,
        **test,
    }


def _item(rendered: RenderedItem, *, has_text: bool) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(rendered.item)
    fields.pop("path", None)
    return {
        **fields,
        "count": rendered.item.count,
        **({"text": rendered.text} if has_text else {}),
        **({"url": rendered.url} if rendered.url else {}),
    }
