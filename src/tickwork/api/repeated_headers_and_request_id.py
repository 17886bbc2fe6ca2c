"""The headers of a request: refuses ambiguous ones, and reads or creates the request id."""

import re
from collections.abc import Mapping
from secrets import token_hex

from starlette.types import Scope

from tickwork.api.problem import BROKEN_HEAD, Refusal

RawHeaders = Mapping[bytes, bytes]

_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")  # visible ASCII
_ONLY_ONCE = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"idempotency-key",
        b"if-match",
        b"last-event-id",
        b"x-request-id",
    }
)


def check_headers(scope: Scope, headers: RawHeaders) -> None:
    """A repeated header is ambiguous: a proxy may have acted on the other one."""
    if b"host" not in headers and scope["http_version"] != "1.0":
        raise Refusal(BROKEN_HEAD, "send the header Host")
    if len(headers) < len(scope["headers"]):
        names = [name for name, _ in scope["headers"] if name in _ONLY_ONCE]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise Refusal(BROKEN_HEAD, f"the header {repeated.decode('ascii').title()} is sent twice")


def request_id_of(headers: RawHeaders) -> str:
    """The id that the client sent, or a new one."""
    given = headers.get(b"x-request-id", b"")
    return given.decode("ascii") if _REQUEST_ID.fullmatch(given) else token_hex(12)
