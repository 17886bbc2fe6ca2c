"""Microsoft Teams: an adaptive card, for a workflow with the trigger "When a Teams webhook request is received"."""

import re
from typing import Any

from tickwork.execute.runners.notify.channel_http_request_type import ChannelRequest, fitting, json_request
from tickwork.execute.runners.notify.render_message import Rendered, RenderedItem
from tickwork.model.channel import TeamsChannel
from tickwork.model.notification_message import Severity

_MOST_BYTES = 27_000  # Teams takes 28 KB
_LONGEST_TEXT = 5_000
_COLOURS = {Severity.INFO: "default", Severity.WARNING: "warning", Severity.ERROR: "attention"}
_MARKDOWN = re.compile(r"([\\`*_\[\]~])")  # else a name could be a link


def teams_request(channel: TeamsChannel, rendered: Rendered) -> ChannelRequest:
    return json_request(channel.url, fitting(_message, rendered, _MOST_BYTES))


def _message(rendered: Rendered) -> dict[str, Any]:
    return {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": _card(rendered),
            }
        ],
    }


def _card(rendered: Rendered) -> dict[str, Any]:
    head = {
        **_text_block(rendered.title),
        "size": "medium",
        "weight": "bolder",
        "color": _COLOURS[rendered.severity],
    }
    alone = len(rendered.items) == 1
    body = [head, *(block for item in rendered.items for block in _blocks(item, alone=alone))]
    if rendered.left_off:
        body.append(_text_block(f"and {rendered.left_off} more"))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if rendered.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open in Tickwork", "url": rendered.url}]
    return card


def _blocks(item: RenderedItem, *, alone: bool) -> list[dict[str, Any]]:
    title = [] if alone else [{**_text_block(item.title), "weight": "bolder", "separator": True}]
    if not item.facts:
        return [*title, _text_block(item.text)]
    facts = [{"title": _escaped(label), "value": _escaped(value)} for label, value in item.facts]
    return [*title, {"type": "FactSet", "facts": facts}]


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": _escaped(text[:_LONGEST_TEXT]), "wrap": True}


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)
