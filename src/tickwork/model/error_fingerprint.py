"""A number that failures of one cause have in common: same task, same type of error, same message but for its numbers
and ids, same place in the user's code."""

import re
from hashlib import blake2b

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
