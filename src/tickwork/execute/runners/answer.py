"""What the target's answer means for the attempt."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import chain

import msgspec
from aiohttp import ClientResponse

from tickwork.execute.failure import AttemptFailed
from tickwork.model.protocol import Failure

SHOWN_BYTES = 4096  # of a body, in a result or a failure
RETRY_AFTER_MAX = 86_400.0

_PHRASES = {status.value: f" {status.phrase}" for status in HTTPStatus}
_MAY_ASK_TO_WAIT = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})


async def result_of(response: ClientResponse, max_body_bytes: int) -> bytes:
    """The status and the start of the body, as JSON. The body is read to its end so that the connection can
    be used again, but no more of it is kept than is shown."""
    start, complete = await _read_body(response, max_body_bytes)
    if not complete:
        raise AttemptFailed(too_large(response, f"{max_body_bytes} bytes of body"))
    return msgspec.json.encode({"status": response.status, "body": _body_value(response, start)})


async def failure_of(response: ClientResponse, now: float) -> Failure:
    start, _ = await _read_body(response, SHOWN_BYTES)
    return Failure(
        f"Http{response.status}",
        f"{response.url.host} answered {_status_words(response.status)}"
        + (f": {_text(start)}" if start else ""),
        retry=response.status != HTTPStatus.GONE,
        retry_after=_retry_after(response, now),
        kinds=[f"Http{response.status // 100}xx"],
    )


def too_large(response: ClientResponse, limit: str) -> Failure:
    return Failure("ResponseTooLarge", f"{response.url.host} answered with more than {limit}")


def header_bytes(response: ClientResponse) -> int:
    return sum(map(len, chain.from_iterable(response.raw_headers)))


async def _read_body(response: ClientResponse, limit: int) -> tuple[bytes, bool]:
    """One byte more than can be shown, and whether the body ended within the limit."""
    start, size = b"", 0
    async for chunk in response.content.iter_any():
        start += chunk[: SHOWN_BYTES + 1 - len(start)]
        size += len(chunk)
        if size > limit:
            return start, False
    return start, True


def _body_value(response: ClientResponse, start: bytes) -> msgspec.Raw | str | None:
    if not start:
        return None
    whole_json = "json" in response.content_type and len(start) <= SHOWN_BYTES and _is_json(start)
    return msgspec.Raw(start) if whole_json else _text(start)


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def _text(start: bytes) -> str:
    text = (
        start[:SHOWN_BYTES].decode(errors="replace").replace("\0", "\ufffd")
    )  # PostgreSQL's text has no NUL
    return text + "…" if len(start) > SHOWN_BYTES else text


def _status_words(status: int) -> str:
    words = f"{status}{_PHRASES.get(status, '')}"
    is_redirect = 300 <= status < 400  # noqa: PLR2004 (3xx is what it is)
    return f"{words} (redirects are not followed: give the final URL)" if is_redirect else words


def _retry_after(response: ClientResponse, now: float) -> float:
    """Seconds that the target asks us to wait, given by it as seconds or as a date."""
    asked = response.headers.get("Retry-After", "").strip()
    if response.status not in _MAY_ASK_TO_WAIT or not asked:
        return 0.0
    seconds = float(asked) if asked.isascii() and asked.isdigit() else _seconds_until(asked, now)
    return min(max(seconds, 0.0), RETRY_AFTER_MAX)


def _seconds_until(date: str, now: float) -> float:
    try:
        at = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return 0.0
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now
