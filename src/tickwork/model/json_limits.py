"""Limits for JSON from outside: valid, not too large, not too deep, and nothing that PostgreSQL cannot store."""

from collections.abc import Collection
from typing import Any

import msgspec

MAX_DEPTH = 32  # levels
NUL = "\x00"
JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
BRACKETS_TO_BRACES = bytes.maketrans(b"[]", b"{}")
_NO_BRACKETS = bytes(set(range(256)).difference(b"[]{}"))
ESCAPED_NUL = b"\\u0000"
_decode = msgspec.json.Decoder().decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode


def json_error(text: bytes, most: int, deepest: int = MAX_DEPTH) -> str | None:
    """What is wrong with the text, or None. `most` is the limit in bytes."""
    if len(text) > most:
        return f"has {len(text)} bytes of JSON; the limit is {most}"
    try:
        value = _decode(text)
    except JSON_ERRORS as error:
        return f"is not valid JSON: {error}"
    if is_storable(text, deepest):
        return None
    if is_deeper(value, deepest):
        return f"is nested deeper than {deepest} levels"
    return "holds the character NUL (\\u0000)" if contains_nul(value) else None


def raw_json(text: bytes) -> msgspec.Raw | None:
    """The text as part of a larger document, without parsing it; None when it is not valid JSON."""
    try:
        text.decode()
        return _skip(text)
    except JSON_ERRORS:
        return None


def is_storable(text: bytes, deepest: int) -> bool:
    """A fast check without parsing. It may wrongly return False, because it also counts brackets within strings."""
    return ESCAPED_NUL not in text and not _seems_deeper(text, deepest)


def _seems_deeper(text: bytes, limit: int) -> bool:
    if text.count(b"{") + text.count(b"[") <= limit:
        return False
    return pairs_nest_deeper(text.translate(BRACKETS_TO_BRACES, _NO_BRACKETS), limit)


def pairs_nest_deeper(brackets: bytes | bytearray, deepest: int) -> bool:
    """`brackets` has only braces, one pair for each object and array."""
    for _ in range(deepest):
        if not brackets:
            return False
        brackets = brackets.replace(b"{}", b"")  # one level less
    return bool(brackets)


def is_deeper(value: object, limit: int) -> bool:
    containers = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        containers = [
            child for item in containers for child in _children(item) if isinstance(child, dict | list)
        ]
    return bool(containers)


def contains_nul(value: object) -> bool:
    if isinstance(value, str):
        return NUL in value
    if isinstance(value, dict):
        return any(map(contains_nul, value)) or any(map(contains_nul, value.values()))
    return isinstance(value, list) and any(map(contains_nul, value))


def _children(container: dict[str, Any] | list[Any]) -> Collection[Any]:
    return container.values() if isinstance(container, dict) else container
