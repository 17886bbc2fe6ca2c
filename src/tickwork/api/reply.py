"""An answer as a value."""

from typing import NamedTuple

import msgspec
from starlette.types import Send

Headers = dict[str, str]

JSON = "application/json"
_encode = msgspec.json.Encoder().encode


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: Headers  # names in lower case
    remembered: bytes | None = None  # the body to keep for replays, when it must differ from the one sent


def json_reply(value: object, status: int = 200, headers: Headers | None = None) -> Reply:
    return Reply(status, _encode(value), {"content-type": JSON, **(headers or {})})


async def send_reply(send: Send, reply: Reply, request_id: str) -> None:
    """API answers are for the caller alone and for now; a reply that may be kept says so itself."""
    headers = {
        "cache-control": "no-store",
        **reply.headers,
        "content-length": str(len(reply.body)),
        "x-content-type-options": "nosniff",
        "x-request-id": request_id,
    }
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": raw})
    await send({"type": "http.response.body", "body": reply.body})
