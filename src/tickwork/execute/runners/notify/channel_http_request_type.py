"""The HTTP request that delivers a message to a channel."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from tickwork.execute.runners.notify.render_message import Rendered


class ChannelRequest(NamedTuple):
    url: str
    body: bytes  # JSON
    headers: Mapping[str, str] = {}


def json_request(url: str, body: Any, headers: Mapping[str, str] | None = None) -> ChannelRequest:
    return ChannelRequest(
        url, msgspec.json.encode(body), {"content-type": "application/json", **(headers or {})}
    )


def fitting(build: Callable[[Rendered], Any], rendered: Rendered, most: int) -> Any:
    """What is built, with as many items as make at most so many bytes of JSON. One item always fits."""
    while True:
        built = build(rendered)
        if len(rendered.items) == 1 or len(msgspec.json.encode(built)) <= most:
            return built
        rendered = rendered.shortened(len(rendered.items) // 2)


def bounded_key(key: str, most: int) -> str:
    """The key, or a digest of one that is too long for the receiver."""
    return key if len(key) <= most else sha256(key.encode()).hexdigest()
