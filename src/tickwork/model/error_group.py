"""Failures of one cause, as one line."""

import re

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.field_types import Instant

COUNTED = 1000  # more failures within an hour, or dead letters, of one cause are not counted
_FINGERPRINT = re.compile("[0-9a-f]{16}")


class ErrorGroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of failures as shown to users."""

    fingerprint: str
    task: str
    type: str
    message: str | None  # of the failure seen last
    count: int  # attempts that failed
    failed_executions: int  # those of them that were the last of their execution
    dead_letters: int  # executions left to redrive or discard, up to 1,000
    last_hour: int  # attempts that failed within the last hour, up to 1,000
    first_seen: Instant
    last_seen: Instant
    executions: list[str]  # the latest ones, five at most


def parse_fingerprint(text: str) -> int:
    """Invalid unless it is written as events and groups show it."""
    if not _FINGERPRINT.fullmatch(text):
        hint = "it has 16 hexadecimal digits, as GET /v1/errors shows"
        raise Invalid.field("fingerprint", f"{text[:100]!r} is no fingerprint", hint)
    number = int(text, 16)
    return number - (1 << 64) if number >= 1 << 63 else number
