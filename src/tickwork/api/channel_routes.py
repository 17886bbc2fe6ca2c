"""/channels: where notifications go. Secrets are shown to nobody."""

import msgspec

from tickwork.api.problem import CONFLICT
from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_body import RawBody, decode
from tickwork.api.request_query import PageQuery
from tickwork.api.route import Call, Content, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.channel import Channel, ChannelPreview, ChannelPreviewRequest, ChannelTest, ChannelView
from tickwork.model.field_types import Page


async def list_channels(call: Call[PageQuery, None]) -> Reply:
    """List channels by name."""
    return json_reply(await call.node.channels.list(call.tenant_id, call.query.limit, call.query.cursor))


async def get_channel(call: Call[NoQuery, None]) -> Reply:
    """Show a channel. Its secrets are shown as `***`."""
    return json_reply(await call.node.channels.get(call.tenant_id, call.path["name"]))


async def set_channel(call: Call[NoQuery, Channel]) -> Reply:
    """Create a channel, or replace everything about it.

    A field that is left out gets its default. Where the request says `***` as an answer does, the stored secret stays,
    if the channel keeps its kind and destination.
    """
    return json_reply(await call.node.channels.set(call.tenant_id, call.path["name"], call.body))


async def delete_channel(call: Call[NoQuery, None]) -> Reply:
    """Delete a channel. What was about to be delivered to it fails."""
    return json_reply(await call.node.channels.delete(call.tenant_id, call.path["name"]))


async def test_channel(call: Call[NoQuery, None]) -> Reply:
    """Send a test message at once, and say what the receiver answered.

    It is sent whatever the severity, quiet hours, digest and rate of the channel, also if the channel is paused. The
    answer is 200 even if the message could not be delivered: see `delivered` and `error`.
    """
    return json_reply(await call.node.channels.test(call.tenant_id, call.path["name"]))


async def preview_channel(call: Call[NoQuery, ChannelPreviewRequest]) -> Reply:
    """Show what the channel would send about a sample execution that failed, by its own template or by another."""
    return json_reply(await call.node.channels.preview(call.tenant_id, call.path["name"], call.body.template))


_decoder: msgspec.json.Decoder[Channel] = msgspec.json.Decoder(Channel)


def _read(raw: RawBody, _media: str) -> Channel:
    return decode(raw, _decoder)


_BODY = Content(
    Channel, _read, example={"kind": "slack", "url": "https://hooks.slack.com/services/T0/B0/secret"}
)
_PREVIEW = json_content(
    ChannelPreviewRequest,
    example={"template": {"title": "{job.name} failed"}},
    default=ChannelPreviewRequest(),
)

ROUTES = (
    Route("GET", "/v1/channels", list_channels, Scope.READ, Page[ChannelView], query=PageQuery),
    Route("GET", "/v1/channels/{name}", get_channel, Scope.READ, ChannelView),
    Route("PUT", "/v1/channels/{name}", set_channel, Scope.WRITE, ChannelView, body=_BODY),
    Route("DELETE", "/v1/channels/{name}", delete_channel, Scope.WRITE, ChannelView),
    Route(
        "POST",
        "/v1/channels/{name}/test",
        test_channel,
        Scope.WRITE,
        ChannelTest,
        problems=(CONFLICT,),
        waits=True,
        keeps_answer=False,
    ),
    Route(
        "POST",
        "/v1/channels/{name}/preview",
        preview_channel,
        Scope.READ,
        ChannelPreview,
        body=_PREVIEW,
        keeps_answer=False,
    ),
)
