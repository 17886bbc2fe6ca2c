"""Failures of one cause: the fingerprint that they have in common, and the group that users see."""

import re
from hashlib import blake2b

import msgspec

from tickwork.model.errors import Invalid
from tickwork.model.field_types import Instant

_LONGEST = 2000  # characters of a message that count
_VARYING = re.compile(
    r"0x[0-9a-f]+"  # addresses of objects
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"  # UUIDs
    r"|\b(?=[a-z0-9_-]*\d)[a-z0-9_-]{8,}\b"  # long words with a digit: ids, hashes, dates
    r"|\d+(?:[.,:]\d+)*",
    re.IGNORECASE,
)
_FRAME = re.compile(r'^ *File "(?P<file>[^"\n]{1,1000})", line \d+, in (?P<function>.{1,200})$', re.MULTILINE)
_NOT_THE_USERS = ("/site-packages/", "/tickwork/", "/lib/python", "<frozen ")

COUNTED = 1000  # more failures within an hour, or dead letters, of one cause are not counted
_FINGERPRINT = re.compile("[0-9a-f]{16}")


def error_fingerprint(task: str, error_type: str, message: str, traceback: str | None) -> int:
    """As a signed 64-bit number, which is what a bigint holds."""
    parts = (task, error_type, message_pattern(message), _place(traceback or ""))
    digest = blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def message_pattern(message: str) -> str:
    """The message with `#` in place of what differs from one failure to the next."""
    return _VARYING.sub("#", message[:_LONGEST])


def _place(traceback: str) -> str:
    """The innermost frame in the user's code, without its line, which moves with every edit above it."""
    frames = [(frame["file"].replace("\\", "/"), frame["function"]) for frame in _FRAME.finditer(traceback)]
    own = [frame for frame in frames if not any(part in frame[0] for part in _NOT_THE_USERS)]
    file, function = (own or frames or [("", "")])[-1]
    return f"{'/'.join(file.split('/')[-2:])}:{function}"


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
