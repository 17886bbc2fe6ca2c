"""Refuses requests whose headers are ambiguous."""

from collections.abc import Mapping

from starlette.types import Scope

from tickwork.api.problem import BROKEN_HEAD, Refusal

RawHeaders = Mapping[bytes, bytes]

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
    """A proxy may have acted on the other one of two equal headers."""
    if b"host" not in headers and scope["http_version"] != "1.0":
        raise Refusal(BROKEN_HEAD, "send the header Host")
    if len(headers) < len(scope["headers"]):
        names = [name for name, _ in scope["headers"] if name in _ONLY_ONCE]
        if doubled := next((name for name in names if names.count(name) > 1), None):
            raise Refusal(BROKEN_HEAD, f"the header {doubled.decode('ascii').title()} is sent twice")
