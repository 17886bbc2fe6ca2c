"""A response as a value, in JSON or as tab-separated values, and how it is sent."""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import NamedTuple

import msgspec
from starlette.types import Message, Send

Headers = dict[str, str]

JSON = "application/json"
NDJSON = "application/x-ndjson"
PLAIN = "text/plain"
BYTES = "application/octet-stream"
TSV = "text/tab-separated-values"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_encode = msgspec.json.Encoder().encode


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: Headers  # names in lower case
    remembered: bytes | None = None  # the body to store for replays, if it must differ from the one sent
    stream: AsyncGenerator[bytes, None] | None = None  # instead of the body


def json_reply(value: object, status: int = 200, headers: Headers | None = None) -> Reply:
    return Reply(status, _encode(value), {"content-type": JSON, **(headers or {})})


TsvLine = tuple[str | float, ...]


def wants_tsv(headers: Mapping[bytes, bytes]) -> bool:
    return TSV.encode() in headers.get(b"accept", b"")


def tsv_reply(lines: Iterable[TsvLine], status: int = 200) -> Reply:
    """For shell scripts that have no JSON parser."""
    text = "".join("\t".join(map(_tsv_value, line)) + "\n" for line in lines)
    return Reply(status, text.encode(), {"content-type": f"{TSV}; charset=utf-8"})


def _tsv_value(value: str | float) -> str:
    return _CONTROL.sub(" ", value) if isinstance(value, str) else f"{value:.15g}"


def response_start(reply: Reply, request_id: str) -> Message:
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
    await send(response_start(reply, request_id))
    await send({"type": "http.response.body", "body": reply.body})
