"""/events: what happens to a tenant's jobs, executions, workers, queues and keys, as a live stream."""

import re
from contextlib import aclosing
from time import monotonic
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import JobId, Limit, Text
from tickwork.api.route import Call, Route
from tickwork.api.server_sent_events import EVENT_STREAM, KEEP_ALIVE, Event, Events, event_stream
from tickwork.model.access import Scope
from tickwork.model.errors import FieldError, Invalid, Unavailable
from tickwork.model.field_types import Page
from tickwork.model.public_ids import job_id
from tickwork.model.stream_event import EventFilter, EventKind, NumberedEvent, StreamEvent

_KEY_CHECK_INTERVAL = 15.0  # seconds before the key of a stream is checked again
_EVENT_ID = re.compile(rb"\d{1,18}")


Kinds = Annotated[
    str,
    Meta(
        min_length=1, max_length=1000, description="kinds, separated by commas; execution.* for all of these"
    ),
]


EventCursor = Annotated[str, Meta(pattern="^[0-9]{1,18}$", description="the next_cursor of the page before")]


class EventQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: Kinds | None = None
    job: JobId | None = None
    task: Text | None = None
    queue: Text | None = None
    tag: Text | None = None
    after: Annotated[int, Meta(ge=0, description="the id of the last event that was seen")] | None = None
    follow: Literal["true", "false"] = "false"
    limit: Limit = 50
    cursor: EventCursor | None = None


async def list_events(call: Call[EventQuery, None]) -> Reply:
    """List what happened, latest first, or follow what happens.

    With `follow=true` or `Accept: text/event-stream`, server-sent events without end. News is durable and in order:
    with `Last-Event-ID`, or `after`, the stream continues after that event on any node; `after=0` begins with the
    oldest event that is kept. `execution.started` and `execution.completed` are live only: they are sent if `kind`
    names them, and above 1,000 a second they are a sample.
    """
    query = call.query
    job = await call.job_in(query.job)
    wanted = EventFilter(
        _kinds(query.kind), None if job is None else job_id(job), query.task, query.queue, query.tag
    )
    if query.follow == "true" or EVENT_STREAM.encode() in call.headers.get(b"accept", b""):
        return event_stream(_events(call, wanted, _place(call)))
    before = None if query.cursor is None else int(query.cursor)
    return json_reply(await call.node.event_history.page(call.tenant_id, wanted, query.limit, before))


def _kinds(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset()
    wanted = [word.strip() for word in text.split(",")]
    kinds = {word: [kind for kind in EventKind if _matches(kind, word)] for word in wanted}
    unknown = [word for word, found in kinds.items() if not found]
    if unknown:
        hint = f"the kinds are {', '.join(EventKind)}"
        raise Invalid([FieldError("kind", f"{word!r} is no kind of event", hint) for word in unknown])
    return frozenset(kind.value for found in kinds.values() for kind in found)


def _matches(kind: EventKind, word: str) -> bool:
    return kind == word or (word.endswith(".*") and kind.startswith(word[:-1]))


def _place(call: Call[EventQuery, None]) -> int | None:
    seen = _EVENT_ID.fullmatch(call.headers.get(b"last-event-id", b""))
    return int(seen[0]) if seen else call.query.after


async def _events(call: Call[EventQuery, None], wanted: EventFilter, after: int | None) -> Events:
    trusted_at, feed = monotonic(), call.node.event_feed
    place = await feed.last_number() if after is None else after
    yield f"id: {place}\n\n".encode()  # so that a client that reconnects before the first event misses none
    async with aclosing(feed.follow(call.tenant_id, wanted, place)) as events:
        async for event in events:
            if monotonic() - trusted_at > _KEY_CHECK_INTERVAL:
                if not await _may_stay(call):
                    return
                trusted_at = monotonic()
            yield _encoded(event)


async def _may_stay(call: Call[EventQuery, None]) -> bool:
    try:
        return await call.node.keys.is_valid(call.caller.key_id)
    except Unavailable:
        return True  # without a database, nobody can have revoked it


def _encoded(each: NumberedEvent | None) -> bytes:
    if each is None:
        return KEEP_ALIVE
    return Event(each.event.kind, each.event, id=str(each.number) if each.number else None).encode()


ROUTES = (
    Route(
        "GET",
        "/v1/events",
        list_events,
        Scope.READ,
        Page[StreamEvent],
        query=EventQuery,
        also_media=(EVENT_STREAM,),
    ),
)
