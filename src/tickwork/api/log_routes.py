"""/executions/{id}/logs: what an execution printed and logged, in pages or as a live stream."""

import re
from contextlib import aclosing
from time import monotonic
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tickwork.api.reply import Reply, json_reply
from tickwork.api.request_query import Cursor, Limit
from tickwork.api.route import Call, Route
from tickwork.api.server_sent_events import EVENT_STREAM, KEEP_ALIVE, Event, Events, event_stream
from tickwork.model.access import Scope
from tickwork.model.attempt_log import BEGINNING, AttemptProgress, LogEntry, LogNews, Position
from tickwork.model.errors import Invalid, Unavailable
from tickwork.model.execution import ExecutionStatus
from tickwork.model.field_types import Page
from tickwork.model.public_ids import parse_execution_id

_KEY_CHECK_INTERVAL = 15.0  # seconds before the key of a stream is checked again
_LARGEST = 2**31 - 1
_EVENT_ID = re.compile(rb"(\d{1,10})-(\d{1,10})")


class LogQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    attempt: Annotated[int, Meta(ge=1, le=_LARGEST)] | None = None
    limit: Limit = 500
    cursor: Cursor | None = None
    tail: Limit | None = None
    follow: Literal["true", "false"] = "false"


async def list_logs(call: Call[LogQuery, None]) -> Reply:
    """List what an execution printed and logged, oldest first.

    With `tail`, only that many of the latest lines. With `follow=true` or `Accept: text/event-stream`, server-sent
    events: `log` for each line, `progress` for each progress report, and `end` with the status once the execution has
    ended. With `Last-Event-ID` the stream continues after that event.
    """
    query, execution = call.query, call.id(parse_execution_id)
    if query.tail and query.cursor:
        raise Invalid.field("tail", "does not go together with cursor", "leave one of them out")
    if query.follow == "true" or EVENT_STREAM.encode() in call.headers.get(b"accept", b""):
        return event_stream(_events(call, await _stream_position(call)))
    logs = call.node.logs
    if query.tail:
        return json_reply(Page(await logs.tail(call.tenant_id, *execution, query.attempt, query.tail)))
    return json_reply(await logs.page(call.tenant_id, *execution, query.attempt, query.limit, query.cursor))


async def _stream_position(call: Call[LogQuery, None]) -> Position:
    """Where the stream begins. Raises NotFound if the execution does not exist."""
    query, execution = call.query, call.id(parse_execution_id)
    await call.node.history.get(call.tenant_id, *execution)
    seen = _EVENT_ID.fullmatch(call.headers.get(b"last-event-id", b""))
    if seen:
        return Position(min(int(seen[1]), _LARGEST), min(int(seen[2]) + 1, _LARGEST))
    if query.tail:
        lines = await call.node.logs.tail(call.tenant_id, *execution, query.attempt, query.tail)
        return Position(lines[0].attempt, lines[0].line) if lines else BEGINNING
    return BEGINNING


async def _events(call: Call[LogQuery, None], begin: Position) -> Events:
    execution, checked_at = call.id(parse_execution_id), monotonic()
    async with aclosing(
        call.node.logs.follow(call.tenant_id, *execution, call.query.attempt, begin)
    ) as updates:
        async for update in updates:
            if monotonic() - checked_at > _KEY_CHECK_INTERVAL:
                if not await _key_is_valid(call):
                    return
                checked_at = monotonic()
            yield _encoded(update)


async def _key_is_valid(call: Call[LogQuery, None]) -> bool:
    try:
        return await call.node.keys.is_valid(call.caller.key_id)
    except Unavailable:
        return True  # without a database, nobody can have revoked it


def _encoded(news: LogNews) -> bytes:
    match news:
        case LogEntry():
            return Event("log", news, id=f"{news.attempt}-{news.line}").encode()
        case AttemptProgress():
            return Event("progress", news).encode()
        case ExecutionStatus():
            return Event("end", {"status": news}).encode()
        case None:
            return KEEP_ALIVE


ROUTES = (
    Route(
        "GET",
        "/v1/executions/{id}/logs",
        list_logs,
        Scope.READ,
        Page[LogEntry],
        query=LogQuery,
        also_media=(EVENT_STREAM,),
    ),
)
