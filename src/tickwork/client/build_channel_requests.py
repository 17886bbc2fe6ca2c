"""Builds the requests about channels, as plain values."""

from typing import Any

import msgspec

from tickwork.client.build_requests import Call, Fields, get, post
from tickwork.model.channel import Channel, ChannelPreview, ChannelTest, ChannelView, MessageTemplate
from tickwork.model.field_types import Page

_LONGEST_TEST = 40.0  # seconds


def list_channels(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[ChannelView]]:
    """The channels, by name."""
    return get("channels", answer=Page[ChannelView], query={"limit": limit, "cursor": cursor})


def get_channel(name: str) -> Call[ChannelView]:
    """The channel, with *** in place of its secrets."""
    return get("channels", name, answer=ChannelView)


def set_channel(name: str, channel: Channel | Fields | None = None, **fields: Any) -> Call[ChannelView]:
    """Create a channel or replace everything about it, from a struct, a dict or its fields: kind="slack", url="…".
    Write `from_` for the field `from`. A secret given as *** stays as it is stored."""
    if channel is not None and fields:
        raise TypeError("give a channel or its fields, not both")
    if "from_" in fields:
        fields["from"] = fields.pop("from_")
    body = msgspec.json.encode(fields if channel is None else channel)
    return Call(method="PUT", path=("channels", name), answer=ChannelView, body=body)


def delete_channel(name: str) -> Call[ChannelView]:
    """Delete a channel. Returns it as it was."""
    return Call(method="DELETE", path=("channels", name), answer=ChannelView, repeatable=False)


def test_channel(name: str) -> Call[ChannelTest]:
    """Send a test message at once. Returns what became of it."""
    return msgspec.structs.replace(
        post("channels", name, "test", answer=ChannelTest, repeatable=False), waits=_LONGEST_TEST
    )


def preview_channel(
    name: str, *, template: MessageTemplate | dict[str, Any] | None = None
) -> Call[ChannelPreview]:
    """What the channel would send about a sample execution that failed, by its own template or by this one."""
    body = None if template is None else {"template": template}
    return post("channels", name, "preview", answer=ChannelPreview, body=body)
