"""What an HTTP job calls: its URL, method and headers, which of them are valid, and the destination of a URL.

Validation is strict, so that no two parsers can read one URL in two ways. Which addresses may be called is decided at
the time of the call.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from tickwork.model.errors import FieldError
from tickwork.model.field_types import Duration
from tickwork.model.quantities import parse_duration
from tickwork.model.status_poll import StatusPoll, poll_errors

HEADERS_MAX_BYTES = 16 * 1024

SHORTEST_HEARTBEAT = timedelta(seconds=5)

_URL = re.compile(r"https?://(?P<authority>[^/?#]*)(?P<rest>.*)", re.IGNORECASE)
_UNFIT_FOR_URL = re.compile(r"[^\x21-\x7e]|\\")
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(:(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
_LONGEST_NAME = 253
_LARGEST_PORT = 65_535

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNFIT_FOR_HEADER = re.compile(r"[^\x20-\x7e\t]")
# Headers that Tickwork sets, and headers that control the connection.
_RESERVED_HEADERS = frozenset(
    {"accept-encoding", "content-type", "traceparent", "user-agent"}
    | {"connection", "content-length", "expect", "host", "keep-alive", "te", "trailer"}
    | {"transfer-encoding", "upgrade"}
)
_RESERVED_PREFIXES = ("proxy-", "tickwork-", "webhook-")
Completion = Literal["answer", "callback"]
_DEFAULT_PORTS = {"http": 80, "https": 443}


class HttpTarget(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(max_length=2048)]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "POST"
    headers: dict[str, str] = {}  # secret values are shown as ***
    send_parents: Annotated[
        bool, Meta(description='the body is {"payload": …, "parents": […]}, with the results of the parents')
    ] = False
    completion: Annotated[
        Completion,
        Meta(description="callback: after the answer 202, the target reports how the execution ends"),
    ] = "answer"
    heartbeat: (
        Annotated[Duration, Meta(description="the target reports at least this often after its 202")] | None
    ) = None
    poll: (
        Annotated[StatusPoll, Meta(description="after the answer 202, the status URL is asked how it ends")]
        | None
    ) = None


class HttpTargetView(HttpTarget, frozen=True, omit_defaults=False):
    """What an HTTP job calls, as shown to users: with what it leaves out."""


def target_view(target: HttpTarget) -> HttpTargetView:
    return HttpTargetView(**msgspec.structs.asdict(target))


def destination_of(url: str) -> str:
    """Scheme, host and port in a normal form: without the port when it is the default of the scheme."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    address = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{address}{port}"


def target_errors(target: HttpTarget) -> list[FieldError]:
    """Everything that is wrong with an HTTP call before it is made."""
    error = url_error(target.url)
    return [
        *([error] if error else []),
        *_header_errors(target.headers),
        *_heartbeat_errors(target),
        *_poll_errors(target),
    ]


def _heartbeat_errors(target: HttpTarget) -> Iterator[FieldError]:
    if target.heartbeat is None:
        return
    try:
        is_long_enough = parse_duration(target.heartbeat) >= SHORTEST_HEARTBEAT
    except ValueError as error:
        yield FieldError("http.heartbeat", str(error))
        return
    if not is_long_enough:
        yield FieldError("http.heartbeat", f"is at least {SHORTEST_HEARTBEAT.seconds} s")
    if target.completion != "callback":
        yield FieldError(
            "http.heartbeat",
            "is for a target that reports later",
            'set completion to "callback", or leave it out',
        )


def _poll_errors(target: HttpTarget) -> Iterator[FieldError]:
    if target.poll is None:
        return
    if target.completion == "callback":
        yield FieldError(
            "http.poll", "is for a target that does not call back", "leave out completion or poll"
        )
    yield from poll_errors(target.poll)


def url_error(url: str) -> FieldError | None:
    if unfit := _UNFIT_FOR_URL.search(url):
        hint = "percent-encode it; in a host name write the xn-- form"
        return FieldError("http.url", f"{unfit[0]!r} is not allowed in a URL", hint)
    parts = _URL.fullmatch(url)
    if not parts:
        return FieldError("http.url", "must begin with http:// or https://")
    if "#" in parts["rest"]:
        return FieldError(
            "http.url", "has a fragment, which is never sent", "remove the # and what follows it"
        )
    return _authority_error(parts["authority"])


def _authority_error(authority: str) -> FieldError | None:
    if "@" in authority:
        hint = "send an Authorization header instead"
        return FieldError("http.url", "must not contain a user name or password", hint)
    parts = _AUTHORITY.fullmatch(authority)
    if not parts or (parts["port"] and not 0 < int(parts["port"]) <= _LARGEST_PORT):
        return FieldError(
            "http.url", "must have a port from 1 to 65535, or none", "such as https://example.com:8443/"
        )
    return _host_error(parts["host"])


def _host_error(host: str) -> FieldError | None:
    if host.startswith("["):
        if not _is_address(IPv6Address, host[1:-1]) or "%" in host:
            return FieldError("http.url", f"{host} is not an IPv6 address", "such as http://[2001:db8::1]/")
        return None
    name = host.removesuffix(".")
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        return FieldError("http.url", f"{host[:80]!r} is not a host name", "such as https://example.com/")
    if _NUMBER.fullmatch(labels[-1]) and not _is_address(IPv4Address, host):
        hint = "write an address as four decimal numbers, such as 192.0.2.1"
        return FieldError("http.url", f"{host[:80]!r} is a number, not a host name", hint)
    return None


def _is_address(kind: type[IPv4Address | IPv6Address], text: str) -> bool:
    try:
        kind(text)
    except AddressValueError:
        return False
    return True


def _header_errors(headers: Mapping[str, str]) -> Iterator[FieldError]:
    for name, value in headers.items():
        path = f"http.headers.{name[:80]}"
        if not _HEADER_NAME.fullmatch(name):
            yield FieldError(path, "is not a header name", "use letters, digits and hyphens")
        elif _is_reserved(name):
            yield FieldError(path, "is set by Tickwork", "leave it out")
        elif _UNFIT_FOR_HEADER.search(value):
            yield FieldError(path, "must be one line of printable ASCII")
    if sum(len(name) + len(value) for name, value in headers.items()) > HEADERS_MAX_BYTES:
        yield FieldError("http.headers", f"must take no more than {HEADERS_MAX_BYTES} bytes together")


def _is_reserved(name: str) -> bool:
    return name.lower() in _RESERVED_HEADERS or name.lower().startswith(_RESERVED_PREFIXES)
