"""Server-sent events: responses that stream until the events end, the client disconnects or the node stops."""

import asyncio
from collections.abc import AsyncGenerator
from typing import NamedTuple

import msgspec
import structlog
from starlette.types import Message, Receive, Send

from tickwork.api.reply import Reply, response_start
from tickwork.model.errors import Unavailable

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = b":\n\n"  # a comment: it shows clients and proxies that the connection is alive
_RECONNECT = b"retry: 1000\n\n"  # milliseconds
_log = structlog.get_logger()

Events = AsyncGenerator[bytes, None]


class Event(NamedTuple):
    name: str
    data: object
    id: str | None = None  # a client that reconnects sends it as Last-Event-ID

    def encode(self) -> bytes:
        place = f"id: {self.id}\n" if self.id else ""
        return f"{place}event: {self.name}\ndata: ".encode() + msgspec.json.encode(self.data) + b"\n\n"


def event_stream(events: Events) -> Reply:
    # Without the header, proxies would buffer events.
    return Reply(200, b"", {"content-type": EVENT_STREAM, "x-accel-buffering": "no"}, stream=events)


async def send_stream(method: str, receive: Receive, send: Send, reply: Reply, request_id: str) -> None:
    await send(response_start(reply, request_id))
    if reply.stream is not None and method != "HEAD":
        await _send_until_disconnect(receive, send, reply.stream)
    await send({"type": "http.response.body", "body": b""})


async def _send_until_disconnect(receive: Receive, send: Send, events: Events) -> None:
    tasks = (asyncio.create_task(_send_all(send, events)), asyncio.create_task(wait_for_disconnect(receive)))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await events.aclose()


async def _send_all(send: Send, events: Events) -> None:
    try:
        await send(_part(_RECONNECT))
        async for event in events:
            await send(_part(event))
    except Unavailable:
        pass  # the response has begun: it can only end early, and the client reconnects
    except Exception:  # noqa: BLE001 (likewise)
        _log.exception("stream failed")


async def wait_for_disconnect(receive: Receive) -> None:
    """Returns once the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _part(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}
