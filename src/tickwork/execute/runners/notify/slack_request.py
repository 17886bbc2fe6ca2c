"""Slack: a message of blocks, by an incoming webhook. `text` is what notifications on a phone show."""

from typing import Any

from tickwork.execute.runners.notify.channel_http_request_type import ChannelRequest, fitting, json_request
from tickwork.execute.runners.notify.render_message import Rendered, RenderedItem
from tickwork.model.channel import SlackChannel

_LONGEST_HEADER = 150
_LONGEST_SECTION = 3_000
_MOST_BYTES = (
    12_000  # Slack does not document a limit for all blocks together; longer messages are seldom read
)
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})  # else a name could mention everybody


def slack_request(channel: SlackChannel, rendered: Rendered) -> ChannelRequest:
    return json_request(channel.url, fitting(_message, rendered, _MOST_BYTES))


def _message(rendered: Rendered) -> dict[str, Any]:
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": rendered.title[:_LONGEST_HEADER]}},
        *(_section(item, alone=len(rendered.items) == 1) for item in rendered.items),
        {"type": "context", "elements": [{"type": "mrkdwn", "text": _context(rendered)}]},
    ]
    return {"text": _escaped(rendered.title), "blocks": blocks}


def _section(item: RenderedItem, *, alone: bool) -> dict[str, Any]:
    lines = [f"*{_escaped(label)}:* {_escaped(value)}" for label, value in item.facts] or [
        _escaped(item.text)
    ]
    if not alone:
        lines.insert(0, f"*{_linked(_escaped(item.title), item.url)}*")
    return {"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(lines)[:_LONGEST_SECTION]}}


def _context(rendered: Rendered) -> str:
    parts = [rendered.severity.value]
    if rendered.left_off:
        parts.append(f"and {rendered.left_off} more")
    if rendered.url:
        parts.append(_linked("open in Tickwork", rendered.url))
    return " · ".join(parts)


def _linked(text: str, url: str | None) -> str:
    return f"<{_escaped(url)}|{text}>" if url else text


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
