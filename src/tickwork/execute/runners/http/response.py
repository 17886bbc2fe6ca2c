"""What the target's response means for the attempt, and a bound on provisional responses (status 1xx)."""

from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import chain
from typing import NamedTuple

import msgspec
from aiohttp import ClientResponse
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError

from tickwork.execute.attempt_ending import AttemptFailed
from tickwork.model.execution import RESULT_LIMIT
from tickwork.model.http_secrets import REDACTED
from tickwork.model.json_limits import MAX_DEPTH, json_error
from tickwork.model.worker_protocol import Failure

KEPT_BYTES = RESULT_LIMIT - 100  # of a body, in a result, which also has the status
SHOWN_BYTES = 4096  # of a body, in a failure
RETRY_AFTER_MAX = 86_400.0

_PHRASES = {status.value: f" {status.phrase}" for status in HTTPStatus}
_HONOURS_RETRY_AFTER = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


class _Body(NamedTuple):
    start: bytes  # as much as can be shown
    is_cut: bool  # there was more
    size: int  # of all that was read


async def result_of(response: ClientResponse, max_body_bytes: int, hidden: Sequence[str]) -> bytes:
    """The status and the start of the body, as JSON. The body is read to its end, so that the connection can be
    reused, but only the start is kept."""
    body = await _read_body(response, KEPT_BYTES, max_body_bytes, hidden)
    if body.size > max_body_bytes:
        raise AttemptFailed(too_large(response, f"{max_body_bytes} bytes of body"))
    return msgspec.json.encode({"status": response.status, "body": _body_value(response, body)})


async def failure_of(response: ClientResponse, now: float, hidden: Sequence[str]) -> Failure:
    body = await _read_body(response, SHOWN_BYTES, SHOWN_BYTES, hidden)
    return Failure(
        f"Http{response.status}",
        f"{response.url.host} answered {_status_words(response.status)}"
        + (f": {_text(body)}" if body.start else ""),
        retry=response.status != HTTPStatus.GONE,
        retry_after=retry_after(response, now) if response.status in _HONOURS_RETRY_AFTER else 0.0,
        kinds=[f"Http{response.status // 100}xx"],
    )


def too_large(response: ClientResponse, limit: str) -> Failure:
    return Failure("ResponseTooLarge", f"{response.url.host} answered with more than {limit}")


def header_bytes(response: ClientResponse) -> int:
    return sum(map(len, chain.from_iterable(response.raw_headers)))


async def _read_body(response: ClientResponse, shown: int, limit: int, hidden: Sequence[str]) -> _Body:
    """Keep slightly more than is shown, so that a secret that is cut off at its end is removed, too."""
    longest = max((len(each.encode()) for each in hidden), default=0)
    kept = shown + 1 + longest
    read, size = bytearray(), 0
    async for chunk in response.content.iter_any():
        read += chunk[: kept - len(read)]
        size += len(chunk)
        if size > max(limit, kept):
            break
    start = bytes(read)
    for each in hidden:
        start = start.replace(each.encode(), REDACTED.encode())
    if size > kept and longest:
        start = start[:-longest]  # it may end with a part of a secret
    return _Body(start[:shown], size > kept or len(start) > shown, size)


def _body_value(response: ClientResponse, body: _Body) -> msgspec.Raw | str | None:
    if not body.start:
        return None
    is_whole = "json" in response.content_type and not body.is_cut
    is_json = is_whole and not json_error(body.start, KEPT_BYTES, MAX_DEPTH - 1)
    return msgspec.Raw(body.start) if is_json else _fitting(_text(body))


def _fitting(text: str) -> str:
    """As much of the text as fits into a result: JSON may take several bytes for a character."""
    while (size := len(msgspec.json.encode(text))) > KEPT_BYTES:
        text = text[: len(text) * KEPT_BYTES // size - 1] + "…"
    return text


def _text(body: _Body) -> str:
    text = body.start.decode(errors="replace").replace("\0", "\ufffd")  # PostgreSQL's text has no NUL
    return text + "…" if body.is_cut else text


def _status_words(status: int) -> str:
    words = f"{status}{_PHRASES.get(status, '')}"
    is_redirect = 300 <= status < 400  # noqa: PLR2004 (3xx is what it is)
    return f"{words} (redirects are not followed: give the final URL)" if is_redirect else words


def retry_after(response: ClientResponse, now: float) -> float:
    """The seconds that the target asks us to wait; the header has seconds or a date."""
    asked = response.headers.get("Retry-After", "").strip()
    if not asked:
        return 0.0
    seconds = float(asked) if asked.isascii() and asked.isdigit() else _seconds_until(asked, now)
    return min(max(seconds, 0.0), RETRY_AFTER_MAX)


def _seconds_until(date: str, now: float) -> float:
    try:
        at = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return 0.0
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now


_MAX_PROVISIONAL = 20  # aiohttp accepts any number, and reading a flood of them delays other targets


class ProvisionalLimitResponse(ClientResponse):
    async def start(self, connection: Connection) -> ClientResponse:
        protocol = connection.protocol
        if protocol is None:
            return await super().start(connection)
        read, left = protocol.read, _MAX_PROVISIONAL + 1

        async def read_limited():  # type: ignore[no-untyped-def]  # noqa: ANN202 (like the method that it replaces)
            nonlocal left
            left -= 1
            if left < 0:
                raise HttpProcessingError(message=f"more than {_MAX_PROVISIONAL} provisional answers")
            return await read()

        protocol.read = read_limited  # type: ignore[method-assign]
        try:
            return await super().start(connection)
        finally:
            protocol.read = read  # type: ignore[method-assign]
