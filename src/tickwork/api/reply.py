"""A response as a value, and how it is sent."""

from collections.abc import AsyncGenerator
from typing import NamedTuple

import msgspec
from starlette.types import Message, Send

Headers = dict[str, str]

JSON = "application/json"
NDJSON = "application/x-ndjson"
_encode = msgspec.json.Encoder().encode


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: Headers  # names in lower case
    remembered: bytes | None = None  # the body to store for replays, if it must differ from the one sent
    stream: AsyncGenerator[bytes, None] | None = None  # instead of the body


def json_reply(value: object, status: int = 200, headers: Headers | None = None) -> Reply:
    return Reply(status, _encode(value), {"content-type": JSON, **(headers or {})})


def head(reply: Reply, request_id: str) -> Message:
    """Responses are not cached unless they say otherwise."""
    headers = {
        "cache-control": "no-store",
        **reply.headers,
        "x-content-type-options": "nosniff",
        "x-request-id": request_id,
    }
    if reply.stream is None:
        headers["content-length"] = str(len(reply.body))
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http.response.start", "status": reply.status, "headers": raw}


async def send_reply(send: Send, reply: Reply, request_id: str) -> None:
    await send(head(reply, request_id))
    await send({"type": "http.response.body", "body": reply.body})
