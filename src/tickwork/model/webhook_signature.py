"""Signatures of Standard Webhooks, version v1: HMAC-SHA256 over id, timestamp and body.

Receivers accept a request if any one of its signatures is valid. Signing with the old and the new secret for a while
changes a secret without a failed delivery.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable

_PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64  # bytes


def sign(secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The value of the webhook-signature header: one signature for each secret."""
    content = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    return " ".join("v1," + _digest(parse_secret(secret), content) for secret in secrets)


def parse_secret(secret: str) -> bytes:
    """The key in a secret; ValueError says what it must look like and never repeats it."""
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True) if secret.startswith(_PREFIX) else b""
    except ValueError:
        key = b""
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise ValueError(f"a signing secret is {_PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base 64")
    return key


def _digest(key: bytes, content: bytes) -> str:
    return b64encode(hmac.digest(key, content, "sha256")).decode()
