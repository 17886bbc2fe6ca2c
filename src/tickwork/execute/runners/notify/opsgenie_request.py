"""Opsgenie: an alert of the Alert API, version 2. What opens an alert closes it again by the same alias."""

from urllib.parse import quote

from tickwork.execute.runners.notify.channel_http_request_type import (
    ChannelRequest,
    bounded_key,
    json_request,
)
from tickwork.execute.runners.notify.render_message import Rendered
from tickwork.model.channel import OpsgenieChannel
from tickwork.model.notification_message import NotificationMessage, Severity

_LONGEST_MESSAGE = 130
_LONGEST_ALIAS = 512
_LONGEST_DESCRIPTION = 15_000
_MOST_TAGS, _LONGEST_TAG = 20, 50
_SOURCE = "Tickwork"
_PRIORITIES = {Severity.INFO: "P5", Severity.WARNING: "P3", Severity.ERROR: "P1"}


def opsgenie_request(
    channel: OpsgenieChannel, message: NotificationMessage, rendered: Rendered
) -> ChannelRequest:
    headers = {"authorization": f"GenieKey {channel.api_key}"}
    alerts = f"{channel.url.rstrip('/')}/v2/alerts"
    incident = message.incident
    alias = bounded_key(incident.key if incident else message.id, _LONGEST_ALIAS)
    if incident and incident.action == "close":
        closing = f"{alerts}/{quote(alias, safe='')}/close?identifierType=alias"
        return json_request(closing, {"source": _SOURCE, "note": rendered.title}, headers)
    job = rendered.items[0].item.job
    alert = {
        "message": rendered.title[:_LONGEST_MESSAGE],
        "alias": alias,
        "description": rendered.text[:_LONGEST_DESCRIPTION],
        "priority": _PRIORITIES[rendered.severity],
        "source": _SOURCE,
        "entity": job.id if job else "",
        "tags": [tag[:_LONGEST_TAG] for tag in (job.tags if job else [])[:_MOST_TAGS]],
        "details": {"kind": rendered.items[0].item.kind, **({"url": rendered.url} if rendered.url else {})},
    }
    return json_request(alerts, alert, headers)
