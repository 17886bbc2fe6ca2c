"""/schedules/preview: what a schedule means, before a job is created."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tickwork.api.reply import Reply, json_reply
from tickwork.api.route import Call, NoQuery, Route, json_content
from tickwork.model.access import Scope
from tickwork.model.field_types import Instant
from tickwork.model.parsed_schedule_and_preview import Preview

Zone = Annotated[str, Meta(max_length=64)]


class PreviewRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    schedule: str | dict[str, Any]
    timezone: Zone | None = None
    after: Instant | None = None
    count: Annotated[int, Meta(ge=1, le=100)] = 5
    viewer_timezone: Zone | None = None


async def preview_schedule(call: Call[NoQuery, PreviewRequest]) -> Reply:
    """Explain a schedule: its canonical form, its meaning in words, and the next due times."""
    asked = call.body
    preview = await call.node.preview(
        asked.schedule, asked.timezone, asked.after, asked.count, asked.viewer_timezone
    )
    return json_reply(preview)


_BODY = json_content(
    PreviewRequest, example={"schedule": "0 9 * * MON", "timezone": "Europe/Paris", "count": 3}
)

ROUTES = (Route("POST", "/v1/schedules/preview", preview_schedule, Scope.READ, Preview, body=_BODY),)
