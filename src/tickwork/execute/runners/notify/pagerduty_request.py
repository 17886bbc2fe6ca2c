"""PagerDuty: an event of the Events API, version 2. What opens an incident resolves it again by the same key."""

from typing import Any

from tickwork.execute.runners.notify.channel_http_request_type import (
    ChannelRequest,
    bounded_key,
    json_request,
)
from tickwork.execute.runners.notify.render_message import Rendered
from tickwork.model.channel import PagerDutyChannel
from tickwork.model.notification_message import NotificationMessage

_LONGEST_SUMMARY = 1024
_LONGEST_KEY = 255
_LONGEST_TEXT = 20_000


def pagerduty_request(
    channel: PagerDutyChannel, message: NotificationMessage, rendered: Rendered
) -> ChannelRequest:
    incident = message.incident
    event: dict[str, Any] = {
        "routing_key": channel.routing_key,
        "event_action": "resolve" if incident and incident.action == "close" else "trigger",
        "dedup_key": bounded_key(incident.key if incident else message.id, _LONGEST_KEY),
    }
    if event["event_action"] == "trigger":
        event |= {"payload": _payload(rendered), "client": "Tickwork"}
        if rendered.url:
            event |= {
                "client_url": rendered.url,
                "links": [{"href": rendered.url, "text": "open in Tickwork"}],
            }
    return json_request(channel.url, event)


def _payload(rendered: Rendered) -> dict[str, Any]:
    item = rendered.items[0].item
    payload: dict[str, Any] = {
        "summary": rendered.title[:_LONGEST_SUMMARY],
        "source": (item.job.name or item.job.key or item.job.id) if item.job else "Tickwork",
        "severity": rendered.severity,
        "timestamp": item.at,
        "class": item.kind,
        "custom_details": _details(rendered),
    }
    if item.job and item.job.task:
        payload["component"] = item.job.task
    if item.job and item.job.queue:
        payload["group"] = item.job.queue
    return payload


def _details(rendered: Rendered) -> dict[str, str]:
    if len(rendered.items) == 1 and rendered.items[0].facts:
        return dict(rendered.items[0].facts)
    return {"text": rendered.text[:_LONGEST_TEXT]}
