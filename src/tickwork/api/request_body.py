"""Reads the body of a request: its size and media type, then its JSON.

A few bytes of JSON can become objects that take a hundred times as much memory. The number of values and their depth
are therefore counted on the bytes, before anything is decoded. Counting works on slices, in calls of about a
millisecond, so that other threads can run in between.
"""

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, TypeVar

import msgspec
from starlette.types import Receive

from tickwork.api.problem import BROKEN_BODY, TOO_LARGE, WRONG_MEDIA, Refusal
from tickwork.api.repeated_headers_and_request_id import RawHeaders
from tickwork.model.errors import FieldError, Invalid
from tickwork.model.explain_type_errors import raise_if_any, type_errors
from tickwork.model.json_limits import (
    BRACKETS_TO_BRACES,
    ESCAPED_NUL,
    JSON_ERRORS,
    MAX_DEPTH,
    NUL,
    contains_nul,
    is_deeper,
    pairs_nest_deeper,
)

_SLICE = 64 * 1024
_GLANCE = 1024 * 1024
_NO_STRUCTURE = bytes(set(range(256)).difference(b"[]{},"))

RawBody = bytes | bytearray


class TooManyValues(Exception):
    pass


def nests_deeper(text: RawBody, max_depth: int, max_values: int) -> bool:
    """Whether the text nests deeper than `max_depth`. Raises TooManyValues if it holds more than `max_values`.

    Each comma and opening bracket counts as a value, so the count is never too low. Quoted text does not count. For
    text that is not JSON the answer holds up to the mistake; the rest is never decoded."""
    if _seems_harmless(text, max_values, max_depth):
        return False
    values = 0
    brackets: list[bytes] = []
    for structure in _structure(text):
        values += structure.count(b",") + structure.count(b"{")
        if values > max_values:
            raise TooManyValues
        brackets.append(structure.translate(None, b","))
    return pairs_nest_deeper(b"".join(brackets), max_depth)


def _seems_harmless(text: RawBody, max_values: int, max_depth: int) -> bool:
    """A quick check of short texts that counts quoted text, too."""
    if len(text) > _GLANCE:
        return False
    structure = text.translate(BRACKETS_TO_BRACES, _NO_STRUCTURE)
    return len(structure) <= max_values and not pairs_nest_deeper(structure.translate(None, b","), max_depth)


def _structure(text: RawBody) -> Iterator[bytes]:
    """The commas and brackets outside quotes, slice by slice."""
    in_quotes = False
    for piece in _slices(text):
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(parts[in_quotes::2]).translate(BRACKETS_TO_BRACES, _NO_STRUCTURE)
        in_quotes ^= len(parts) % 2 == 0


def _slices(text: RawBody) -> Iterator[bytes]:
    """No slice ends between a backslash and the character that it escapes."""
    start = 0
    while start < len(text):
        end = start + _SLICE
        piece = bytes(text[start:end])
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            end += 1
            piece = bytes(text[start:end])
        yield piece
        start = end


MEBIBYTE = 1024 * 1024
MAX_BODY_BYTES = MEBIBYTE
MAX_VALUES = 50_000
_HALF_A_PAIR = re.compile(rb'\\ud[89ab][0-9a-f]{2}"', re.IGNORECASE)  # the decoder says: truncated
_BYTE = re.compile(r"^(?:JSON is malformed: )?(?P<what>.*) \(byte (?P<at>\d+)\)$")

Body = TypeVar("Body", bound=msgspec.Struct)


class ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


async def read_body(receive: Receive, headers: RawHeaders, limit: int) -> RawBody:
    """The whole body. A body over the limit is refused unread."""
    if declared_size(headers, 0) > limit:
        raise _too_large(limit)
    chunk, more = await _next_chunk(receive)
    if not more and len(chunk) <= limit:
        return chunk
    body = bytearray(chunk)
    while more and len(body) <= limit:
        chunk, more = await _next_chunk(receive)
        body += chunk
    if len(body) > limit:
        raise _too_large(limit)
    return body


def declared_size(headers: RawHeaders, unknown: int) -> int:
    declared = headers.get(b"content-length", b"")
    return int(declared[:20]) if declared.isdigit() else unknown


async def _next_chunk(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnected
    return message.get("body", b""), message.get("more_body", False)


def media_of(headers: RawHeaders) -> str:
    return headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()


def check_media(headers: RawHeaders, allowed: Collection[str]) -> None:
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refusal(WRONG_MEDIA, "send the body without compression")
    media = media_of(headers)
    if media not in allowed:
        wanted = " or ".join(allowed)
        detail = f"send {wanted}, not {media[:100]}" if media else f"send the header Content-Type: {wanted}"
        raise Refusal(WRONG_MEDIA, detail, headers={"accept": ", ".join(allowed)})


def decode(body: RawBody, decoder: msgspec.json.Decoder[Body], line: int = 1) -> Body:
    """The body as the decoder's struct. `line` is where it starts in what the client sent."""
    storable = is_storable(body, MAX_DEPTH, MAX_VALUES)
    try:
        value = decoder.decode(body)
    except JSON_ERRORS as error:
        loose = decode_any(body, line)
        raise_if_any(chain(_unstorable(loose), type_errors(loose, decoder.type)))
        raise Invalid.field("", str(error)) from None
    if not storable:
        raise_if_any(_unstorable(decode_any(body, line)))
    return value


def decode_any(body: RawBody, line: int = 1) -> Any:
    try:
        return msgspec.json.decode(body)
    except JSON_ERRORS as error:
        raise broken_json(body, error, line) from None


def broken_json(body: RawBody, error: Exception, line: int = 1) -> Refusal:
    if isinstance(error, msgspec.ValidationError):
        return Refusal(BROKEN_BODY, "a number is out of range")  # the decoder does not say where
    what, at = _mistake(body, error)
    row = line + body.count(b"\n", 0, at)
    column = at - body.rfind(b"\n", 0, at)
    return Refusal(BROKEN_BODY, f"line {row}, column {column}: {what}")


def _mistake(body: RawBody, error: Exception) -> tuple[str, int]:
    """What is wrong with the JSON, and at which byte."""
    if not body.strip():
        return "the body is empty; send JSON", 0
    if isinstance(error, RecursionError):
        return f"nested deeper than {MAX_DEPTH} levels", 0
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8", _first_byte_that_is_not_utf8(body)
    if match := _BYTE.match(str(error)):
        return match["what"], int(match["at"])
    if half := _HALF_A_PAIR.search(body):
        return "half of a surrogate pair", half.start()
    return "the JSON ends too early", len(body)


def _first_byte_that_is_not_utf8(body: RawBody) -> int:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def is_storable(body: RawBody, max_depth: int, max_values: int) -> bool:
    """Whether everything in the body can be stored; a Refusal (413) if it holds too many values."""
    try:
        return not nests_deeper(body, max_depth, max_values) and ESCAPED_NUL not in body
    except TooManyValues:
        raise Refusal(TOO_LARGE, f"the body may hold at most {max_values:,} values") from None


def _unstorable(value: object) -> Iterator[FieldError]:
    """What JSON allows but is not stored: PostgreSQL has no NUL in text, and depth is limited."""
    fields = value.items() if isinstance(value, dict) else [("", value)]
    for name, item in fields:
        if is_deeper(item, MAX_DEPTH - 1):
            yield FieldError(name, f"nested deeper than {MAX_DEPTH} levels")
        elif NUL in name or contains_nul(item):
            yield FieldError(
                name.replace(NUL, "\\u0000"), "holds the character NUL (\\u0000)", "leave it out"
            )


def _too_large(limit: int) -> Refusal:
    return Refusal(TOO_LARGE, f"the body may hold at most {limit // MEBIBYTE} MiB")
